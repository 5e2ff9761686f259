//! A child as the product's, but for documents that begin with an order to misbehave.
//! Called as an office suite is, it is a hostile one.

mod hostile;

use std::process::ExitCode;

use rustix::process::{Pid, Resource, Rlimit, prlimit};

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--headless") {
        hostile::print();
        return ExitCode::SUCCESS;
    }
    sandbox::child_main_with(obey)
}

fn obey(document: &[u8]) {
    match document {
        b"!loop" => loop {
            std::hint::spin_loop();
        },
        b"!sleep" => loop {
            std::thread::park();
        },
        b"!memory" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 1 << 20]);
            }
        }
        b"!panic" => panic!("as ordered"),
        b"!abort" => std::process::abort(),
        b"!file" => assert!(
            std::fs::read("/etc/hostname").is_err(),
            "a file was readable"
        ),
        b"!socket" => {
            let bound = std::net::UdpSocket::bind("127.0.0.1:0");
            assert!(bound.is_err(), "a socket was made");
        }
        _ => take_time_from(document),
    }
}

/// Tries to limit the CPU time of a process that is named.
fn take_time_from(document: &[u8]) {
    let Some(pid) = document.strip_prefix(b"!limit ") else {
        return;
    };
    let pid = std::str::from_utf8(pid).unwrap().parse().unwrap();
    let limit = Rlimit {
        current: Some(1 << 30),
        maximum: None,
    };
    let limited = prlimit(Pid::from_raw(pid), Resource::Cpu, limit);
    assert!(limited.is_err(), "another process was limited");
}

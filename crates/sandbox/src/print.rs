//! A document without pages, printed by an office suite.
//!
//! In: a DOCX. Out: the PDF that LibreOffice makes of it. It reads files and not pipes, so it
//! is given a folder of its own with the document in it, which is also its home and all it
//! may write to; what it leaves there is believed no more than any upload.

use std::io;
use std::path::Path;

use bytes::Bytes;

use crate::error::Error;
use crate::pool::Pool;
use crate::scratch::Scratch;
use crate::settings::Office;
use crate::tool::Tool;

const DOCUMENT: &str = "document.docx";
const PRINTED: &str = "document.pdf";
const PROFILE: &str = "profile/user/registrymodifications.xcu";
/// What it ends with when it has set up its profile and wants a new start.
const AGAIN: i32 = 81;
/// It says on its way what it does; nobody listens.
const WORDS: u64 = 1 << 20;
/// A person may wait for a print, but many documents may be on their way in.
const NICENESS: i32 = 10;

/// What it is told before it sees a document: no macros, no Java, and no link is followed, be
/// it to another host or to a file. It could reach neither; so it need not try.
const RULES: &[(&str, &str, &str)] = &[
    (
        "Common/Security/Scripting",
        "DisableMacrosExecution",
        "true",
    ),
    ("Common/Security/Scripting", "MacroSecurityLevel", "3"),
    (
        "Common/Security/Scripting",
        "BlockUntrustedRefererLinks",
        "true",
    ),
    ("Java/VirtualMachine", "Enable", "false"),
    ("Writer/Content/Update", "Link", "0"),
];

pub(crate) async fn print(pool: &Pool, bytes: Bytes) -> Result<Bytes, Error> {
    let office = pool.settings().office.as_ref().ok_or_else(nobody)?;
    let limit = pool.settings().output_bytes;
    let place = office.scratch.clone();
    let folder = blocking(move || laid_out(&place, &bytes)).await;
    let folder = folder.map_err(|source| Error::Start {
        program: office.program.display().to_string(),
        source,
    })?;
    let tool = tool(office, folder.path());
    let ran = pool.run_beside(&tool).await;
    let printed = blocking(move || {
        let printed = folder.read(PRINTED, limit);
        drop(folder);
        printed
    });
    let printed = printed.await;
    ran?;
    printed.map(Bytes::from).map_err(|error| tool.failed(error))
}

/// What is said where none is installed.
pub(crate) fn nobody() -> Error {
    Error::Tool {
        program: "soffice".to_owned(),
        how: "it is not installed".to_owned(),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await?
}

fn laid_out(place: &Path, document: &[u8]) -> io::Result<Scratch> {
    let folder = Scratch::within(place)?;
    folder.write(DOCUMENT, document)?;
    folder.write(PROFILE, profile().as_bytes())?;
    Ok(folder)
}

fn profile() -> String {
    let item = |(group, name, value): &(&str, &str, &str)| {
        format!(
            "<item oor:path=\"/org.openoffice.Office.{group}\"><prop oor:name=\"{name}\" \
             oor:op=\"fuse\"><value>{value}</value></prop></item>\n"
        )
    };
    let items: String = RULES.iter().map(item).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <oor:items xmlns:oor=\"http://openoffice.org/2001/registry\">\n{items}</oor:items>\n"
    )
}

fn tool(office: &Office, folder: &Path) -> Tool {
    let args = [
        format!("-env:UserInstallation={}/profile", url(folder)),
        // By a socket there a second start would find the first. Its own folder, by the
        // shortest name, since names of sockets are short.
        "-env:OSL_SOCKET_PATH=.".to_owned(),
        "--headless".to_owned(),
        "--norestore".to_owned(),
        "--nologo".to_owned(),
        // Whatever else it may look like: its readers of other formats stay out of it.
        "--infilter=MS Word 2007 XML".to_owned(),
        "--convert-to".to_owned(),
        "pdf:writer_pdf_Export".to_owned(),
        "--outdir".to_owned(),
        folder.display().to_string(),
        folder.join(DOCUMENT).display().to_string(),
    ];
    Tool {
        path: office.program.clone(),
        args: args.to_vec(),
        folder: Some(folder.to_owned()),
        cpu_seconds: office.cpu.as_secs().max(1),
        wall: office.wall,
        memory_bytes: office.memory_bytes,
        output_bytes: WORDS,
        scratch_bytes: office.scratch_bytes,
        niceness: NICENESS,
        again: Some(AGAIN),
    }
}

fn url(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let escaped = path.as_os_str().as_bytes().iter().map(|byte| match byte {
        byte if plain(*byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("file://{}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_an_odd_name_is_named_as_a_url() {
        let folder = Path::new("/srv/my mill/50% ä#1");
        assert_eq!(url(folder), "file:///srv/my%20mill/50%25%20%C3%A4%231");
    }
}

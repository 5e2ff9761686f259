use std::time::Duration;

use super::*;

const QUICK: Time = Time {
    cpu: Duration::from_secs(1),
    wall: Duration::from_secs(1),
};

fn at(page: u32) -> Reached {
    Reached::Page { page, most: true }
}

fn plan(poison_pages: usize) -> Plan {
    Plan::new(&Settings {
        poison_pages,
        ..Settings::default()
    })
}

fn crash() -> Death {
    Death::Crashed("signal 11".to_owned())
}

fn gaps(plan: Plan, pages: usize) -> Vec<(u32, u32)> {
    let size = model::PageSize {
        width: 1.0,
        height: 1.0,
    };
    let parsed = Parsed {
        pages: vec![size; pages],
        ..Parsed::default()
    };
    let gaps = plan.disclose(parsed).gaps;
    gaps.into_iter().filter_map(|gap| gap.pages).collect()
}

#[test]
fn a_page_that_crashes_is_left_out_alone() {
    let mut plan = plan(8);
    plan.learn(crash(), at(3), QUICK).unwrap();
    plan.learn(Death::Silence, at(7), QUICK).unwrap();
    assert_eq!(plan.options().skip, [2, 6]);
    assert_eq!(gaps(plan, 9), [(3, 3), (7, 7)]);
}

#[test]
fn memory_used_up_page_by_page_ends_the_reading_where_it_first_ran_out() {
    let mut plan = plan(8);
    plan.learn(Death::Memory, at(5), QUICK).unwrap();
    plan.learn(Death::Memory, at(6), QUICK).unwrap();
    assert_eq!(plan.options().pages, Some(0..4));
    assert_eq!(gaps(plan, 9), [(5, 9)]);
}

#[test]
fn a_document_that_dies_outside_its_pages_is_given_up() {
    let mut plan = plan(8);
    assert!(plan.learn(crash(), Reached::NoPage, QUICK).is_err());
}

#[test]
fn too_many_poison_pages_end_the_reading_and_cost_no_page_before_them() {
    let mut plan = plan(2);
    for page in [4, 6, 8] {
        plan.learn(crash(), at(page), QUICK).unwrap();
    }
    assert_eq!(gaps(plan, 9), [(4, 4), (6, 6), (8, 9)]);
}

/// A document in which these pages hang until somebody ends it, and every other one takes
/// some time, and again some when they are put together.
struct Slow<'b> {
    pages: u32,
    each: Duration,
    together: Duration,
    bad: &'b [u32],
}

impl Slow<'_> {
    fn quick() -> Self {
        Self {
            pages: 500,
            each: Duration::from_millis(20),
            together: Duration::ZERO,
            bad: &[],
        }
    }

    /// What became of it, and the time it took.
    fn read(&self, settings: &Settings) -> (Vec<Gap>, Time) {
        let mut plan = Plan::new(settings);
        let mut total = Time::default();
        loop {
            let (took, died) = self.attempt(&plan, settings.silence);
            total.cpu += took;
            total.wall += took;
            let used = Time {
                cpu: took,
                wall: took,
            };
            match died {
                Some((death, reached)) => plan.learn(death, reached, used).unwrap(),
                None => return (self.gaps(plan), total),
            }
        }
    }

    fn attempt(&self, plan: &Plan, silence: Duration) -> (Duration, Option<(Death, Reached)>) {
        let options = plan.options();
        let allowed = plan.time.cpu.min(plan.time.wall);
        let pages = options.pages.unwrap_or(0..self.pages);
        let wanted = pages.filter(|page| !options.skip.contains(page));
        let (mut took, mut read, mut last) = (Duration::ZERO, 0, 0);
        for page in wanted.map(|page| page + 1) {
            let hangs = self.bad.contains(&page);
            let here = if hangs { silence } else { self.each };
            took += here;
            let over = took >= allowed;
            if over || hangs {
                let took = took.min(allowed);
                let most = here * 2 >= took;
                let death = if over { Death::Cpu } else { Death::Silence };
                return (took, Some((death, Reached::Page { page, most })));
            }
            (read, last) = (read + 1, page);
        }
        took += self.together * read;
        let died = || (Death::Cpu, Reached::End { last });
        (took.min(allowed), (took >= allowed).then(died))
    }

    fn gaps(&self, plan: Plan) -> Vec<Gap> {
        let size = model::PageSize {
            width: 1.0,
            height: 1.0,
        };
        let parsed = Parsed {
            pages: vec![size; self.pages as usize],
            ..Parsed::default()
        };
        plan.disclose(parsed).gaps
    }
}

fn pages_of(gaps: &[Gap]) -> Vec<(u32, u32)> {
    gaps.iter().filter_map(|gap| gap.pages).collect()
}

#[test]
fn a_document_whose_pages_all_hang_is_given_up_within_its_time() {
    let settings = Settings::default();
    let bad: Vec<u32> = (3..=500).collect();
    let document = Slow {
        bad: &bad,
        ..Slow::quick()
    };
    let (gaps, took) = document.read(&settings);
    assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
    assert!(took.wall <= settings.wall_in_all(), "{took:?}");
    let (first, last) = (gaps[0].pages, gaps[gaps.len() - 1].pages);
    assert_eq!((first, last.map(|last| last.1)), (Some((3, 3)), Some(500)));
    let reason = &gaps[gaps.len() - 1].reason;
    assert!(
        reason.starts_with("the document's time was used up"),
        "{reason}"
    );
}

#[test]
fn what_was_read_before_the_time_ran_out_is_kept() {
    let settings = Settings::default();
    let bad: Vec<u32> = (1..=10).map(|page| page * 40).collect();
    let document = Slow {
        bad: &bad,
        ..Slow::quick()
    };
    let (gaps, took) = document.read(&settings);
    assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
    assert_eq!(
        pages_of(&gaps),
        [(40, 40), (80, 80), (120, 120), (160, 160), (200, 500)]
    );
}

#[test]
fn a_machine_too_slow_for_the_whole_document_reads_half_as_far_as_it_came() {
    let settings = Settings::default();
    let document = Slow {
        each: settings.cpu / 300,
        ..Slow::quick()
    };
    let (gaps, took) = document.read(&settings);
    assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
    assert_eq!(pages_of(&gaps), [(150, 500)]);
}

#[test]
fn pages_that_were_read_are_left_time_to_be_put_together() {
    let settings = Settings::default();
    let each = settings.cpu / 300;
    for together in [each / 2, each, each * 2] {
        for bad in [&[][..], &[100], &[100, 150]] {
            let document = Slow {
                each,
                together,
                bad,
                ..Slow::quick()
            };
            let (gaps, took) = document.read(&settings);
            assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
            let pages = pages_of(&gaps);
            let lost = |page: &u32| {
                pages
                    .iter()
                    .any(|(first, last)| first <= page && page <= last)
            };
            assert!(bad.iter().all(lost), "{pages:?}");
            assert!(pages[pages.len() - 1].0 > 70, "{pages:?}");
        }
    }
}

#[test]
fn pages_that_take_too_long_to_be_put_together_are_fewer_the_next_time() {
    let settings = Settings::default();
    let document = Slow {
        each: settings.cpu / 1000,
        together: settings.cpu / 200,
        ..Slow::quick()
    };
    let (gaps, took) = document.read(&settings);
    assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
    assert_eq!(pages_of(&gaps), [(251, 500)]);
}

#[test]
fn a_document_that_uses_up_its_time_over_and_over_keeps_its_first_pages() {
    let settings = Settings::default();
    let document = Slow {
        each: settings.cpu / 1000,
        together: settings.cpu / 60,
        ..Slow::quick()
    };
    let (gaps, took) = document.read(&settings);
    assert!(took.cpu <= settings.cpu_in_all(), "{took:?}");
    assert_eq!(pages_of(&gaps), [(4, 500)]);
}

#[test]
fn pages_that_cannot_be_put_together_are_halved() {
    let mut plan = plan(8);
    let last = Reached::End { last: 9 };
    plan.learn(Death::Memory, last, QUICK).unwrap();
    assert_eq!(plan.options().pages, Some(0..4));
    let last = Reached::End { last: 4 };
    plan.learn(Death::Memory, last, QUICK).unwrap();
    assert_eq!(gaps(plan, 9), [(3, 9)]);
}

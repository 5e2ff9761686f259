//! Finds the main content of a web page and drops all else.
//!
//! Paragraphs score by length and commas and pass their score on to what holds
//! them; the best holder, less the share of its links, is the content, with those
//! of its siblings that look alike. When little is left the search starts again
//! with fewer prejudices, and the attempt with the most text wins.

use super::dom::{Dom, Id};
use super::measure::Measure;
use super::{chrome, clean};

/// Less text than this, and another attempt is made.
const ENOUGH_CHARS: usize = 500;

/// Prejudices, dropped one by one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) by_unlikely_names: bool,
    pub(super) by_weights: bool,
    pub(super) cleaning: bool,
}

const ATTEMPTS: [Attempt; 4] = [
    Attempt {
        by_unlikely_names: true,
        by_weights: true,
        cleaning: true,
    },
    Attempt {
        by_unlikely_names: false,
        by_weights: true,
        cleaning: true,
    },
    Attempt {
        by_unlikely_names: false,
        by_weights: false,
        cleaning: true,
    },
    Attempt {
        by_unlikely_names: false,
        by_weights: false,
        cleaning: false,
    },
];

pub(super) fn keep(dom: &mut Dom) {
    let visible = dom.dropped();
    let body = dom.body();
    let mut best: Option<(usize, Vec<bool>)> = None;
    for attempt in ATTEMPTS {
        dom.restore(&visible);
        keep_once(dom, body, attempt);
        let chars = Measure::of(dom).chars(dom, 0);
        if best.as_ref().is_none_or(|(most, _)| chars > *most) {
            best = Some((chars, dom.dropped()));
        }
        if chars >= ENOUGH_CHARS {
            break;
        }
    }
    if let Some((_, dropped)) = best {
        dom.restore(&dropped);
    }
}

/// Of a page of a manual, what it marks as its main part, without ways to other pages.
pub(super) fn keep_all_but_navigation(dom: &mut Dom) {
    let body = dom.body();
    let is_main = |id: &Id| dom.tag(*id) == "main" || dom.attribute(*id, "role") == Some("main");
    let main = dom.subtree(body).find(is_main).unwrap_or(body);
    if main > body {
        drop_all_but(dom, &[main], body);
    }
    for id in dom.all() {
        if id > body && dom.is_element(id) && chrome::is_navigation(dom, id) {
            dom.drop(id);
        }
    }
}

fn keep_once(dom: &mut Dom, body: Id, attempt: Attempt) {
    let measure = Measure::of(dom);
    for id in dom.all() {
        let unlikely = attempt.by_unlikely_names && chrome::is_unlikely(dom, &measure, id);
        if dom.is_element(id) && (chrome::is_chrome(dom, id) || unlikely) && id > body {
            dom.drop(id);
        }
    }
    let measure = Measure::of(dom);
    let scores = scores(dom, &measure, attempt);
    let top = top_candidate(dom, &measure, &scores, body);
    let kept = with_siblings(dom, &measure, &scores, top, body);
    drop_all_but(dom, &kept, body);
    if attempt.cleaning {
        clean::clean(dom, &kept, attempt);
    }
}

fn scores(dom: &Dom, measure: &Measure, attempt: Attempt) -> Vec<f64> {
    let mut scores = vec![f64::NAN; dom.len()];
    for id in dom.subtree(0) {
        if !carries_text(dom, id) {
            continue;
        }
        let figures = measure.figures(dom, id);
        if figures.chars < 25 {
            continue;
        }
        let score = 2.0 + figures.commas as f64 + (figures.chars / 100).min(3) as f64;
        let holders: Vec<Id> = dom.ancestors(id).take(5).collect();
        for (level, holder) in holders.into_iter().enumerate() {
            if matches!(dom.tag(holder), "html" | "") {
                continue;
            }
            let share = match level {
                0 => 1.0,
                1 => 2.0,
                level => level as f64 * 3.0,
            };
            if scores[holder].is_nan() {
                scores[holder] = initial_score(dom, holder, attempt);
            }
            scores[holder] += score / share;
        }
    }
    scores
}

/// Elements whose text counts as a paragraph's.
fn carries_text(dom: &Dom, id: Id) -> bool {
    match dom.tag(id) {
        "p" | "td" | "pre" | "section" | "h2" | "h3" | "h4" | "h5" | "h6" => true,
        "div" => !dom.children(id).any(|child| is_block(dom, child)),
        _ => false,
    }
}

pub(super) fn is_block(dom: &Dom, id: Id) -> bool {
    matches!(
        dom.tag(id),
        "blockquote"
            | "dl"
            | "div"
            | "img"
            | "ol"
            | "p"
            | "pre"
            | "table"
            | "ul"
            | "section"
            | "article"
            | "figure"
    )
}

fn initial_score(dom: &Dom, id: Id, attempt: Attempt) -> f64 {
    let by_tag = match dom.tag(id) {
        "div" => 5.0,
        "pre" | "td" | "blockquote" => 3.0,
        "address" | "ol" | "ul" | "dl" | "dd" | "dt" | "li" | "form" => -3.0,
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "th" => -5.0,
        _ => 0.0,
    };
    match attempt.by_weights {
        true => by_tag + chrome::weight(dom, id),
        false => by_tag,
    }
}

fn top_candidate(dom: &Dom, measure: &Measure, scores: &[f64], body: Id) -> Id {
    let scaled = |id: Id| scores[id] * (1.0 - measure.link_density(dom, id));
    let mut candidates: Vec<(f64, Id)> = dom
        .subtree(0)
        .filter(|id| !scores[*id].is_nan())
        .map(|id| (scaled(id), id))
        .collect();
    // The earlier of two equals wins, so the answer never depends on chance.
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let Some((best, top)) = candidates.first().copied() else {
        return body;
    };
    let rivals: Vec<Id> = candidates
        .iter()
        .skip(1)
        .take(4)
        .filter(|(s, _)| *s >= best * 0.75)
        .map(|(_, id)| *id)
        .collect();
    let top = common_holder(dom, top, &rivals, body).unwrap_or(top);
    climb(dom, scores, top, body)
}

/// Several good candidates side by side are parts of what holds them.
fn common_holder(dom: &Dom, top: Id, rivals: &[Id], body: Id) -> Option<Id> {
    if rivals.len() < 3 {
        return None;
    }
    let holds = |holder: Id, id: Id| holder < id && id < dom.node(holder).end;
    dom.ancestors(top)
        .take_while(|holder| *holder > body)
        .find(|holder| rivals.iter().filter(|id| holds(*holder, **id)).count() >= 3)
}

/// Content in several pieces leaves a better score with their parent.
fn climb(dom: &Dom, scores: &[f64], top: Id, body: Id) -> Id {
    let mut top = top;
    let mut last = scores[top];
    let least = last / 3.0;
    for holder in dom.ancestors(top) {
        if holder <= body || scores[holder].is_nan() {
            continue;
        }
        if scores[holder] < least {
            break;
        }
        if scores[holder] > last {
            top = holder;
            break;
        }
        last = scores[holder];
    }
    // An only child is as good as its parent, whose siblings may belong to it.
    while let Some(parent) = dom.parent(top) {
        let alone = dom
            .children(parent)
            .filter(|id| dom.is_element(*id))
            .count()
            == 1;
        if parent <= body || !alone {
            break;
        }
        top = parent;
    }
    top
}

fn with_siblings(dom: &Dom, measure: &Measure, scores: &[f64], top: Id, body: Id) -> Vec<Id> {
    if top <= body {
        return vec![body];
    }
    let parent = dom.parent(top).unwrap_or(body);
    let top_score = if scores[top].is_nan() {
        0.0
    } else {
        scores[top]
    };
    let threshold = (top_score * 0.2).max(10.0);
    let class = dom.attribute(top, "class").unwrap_or_default();
    dom.children(parent)
        .filter(|id| {
            let same = !class.is_empty() && dom.attribute(*id, "class") == Some(class);
            let bonus = if same { top_score * 0.2 } else { 0.0 };
            *id == top
                || scores[*id] + bonus >= threshold
                || (dom.tag(*id) == "p" && reads_like_text(dom, measure, *id))
                || (*id < top && chrome::is_title(dom, measure, *id))
        })
        .collect()
}

fn reads_like_text(dom: &Dom, measure: &Measure, id: Id) -> bool {
    let chars = measure.chars(dom, id);
    let links = measure.link_density(dom, id);
    if chars > 80 {
        return links < 0.25;
    }
    let text = dom.text(id);
    chars > 0 && links == 0.0 && (text.contains(". ") || text.trim_end().ends_with('.'))
}

fn drop_all_but(dom: &mut Dom, kept: &[Id], body: Id) {
    let in_kept = |dom: &Dom, id: Id| kept.iter().any(|k| *k <= id && id < dom.node(*k).end);
    let holds_kept = |dom: &Dom, id: Id| kept.iter().any(|k| id < *k && *k < dom.node(id).end);
    let mut id = body + 1;
    while id < dom.node(body).end {
        if in_kept(dom, id) || kept.contains(&body) {
            id = if kept.contains(&body) {
                dom.node(body).end
            } else {
                dom.node(id).end
            };
        } else if holds_kept(dom, id) {
            id += 1;
        } else {
            dom.drop(id);
            id = dom.node(id).end;
        }
    }
}

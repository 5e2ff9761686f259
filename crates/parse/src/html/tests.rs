//! What of a page is content, also where it is called like what is not.

use super::*;
use crate::Hints;

const PROSE: &str = "<p>The mill by the river, which is old, grinds wheat and rye for the village, \
    every day of the year. The mill by the river, which is old, grinds wheat and rye for the \
    village, every day of the year. The miller, his wife, and their sons, live beside it.</p>";

/// What is read of an article with navigation and a footer around it.
fn read(head: &str, article: &str) -> String {
    let entry = |n: usize| format!("<li><a href='/{n}'>Navigation entry {n}</a></li>");
    let entries: String = (0..15).map(entry).collect();
    let page = format!(
        "<html><head>{head}</head><body><nav><ul>{entries}</ul></nav><main><article>{article}\
         </article></main><footer>Foot of the site, for all to read</footer></body></html>"
    );
    let parsed = crate::parse(page.as_bytes(), &Hints::default(), &Limits::default()).unwrap();
    assert!(!parsed.text.contains("Navigation entry"), "{}", parsed.text);
    assert!(!parsed.text.contains("Foot of the site"), "{}", parsed.text);
    parsed.text
}

#[test]
fn a_section_is_content_whatever_its_heading_makes_its_id() {
    for id in [
        "http-headers",
        "the-file-menu",
        "comments-in-code",
        "related-work",
        "how-to-share",
    ] {
        let section = format!("<section id='{id}'><h2>About it</h2>{PROSE}</section>");
        let text = read("", &format!("<h1>Title</h1>{PROSE}{section}{PROSE}"));
        assert!(text.contains("About it"), "{id}: {text}");
        assert_eq!(text.matches("The miller").count(), 3, "{id}");
    }
}

#[test]
fn headings_are_content_whatever_they_are_called() {
    let headers = [
        "<header class='entry-header'><h1 class='entry-title'>The title</h1></header>",
        "<h1 class='page-header'>The title</h1>",
        "<div class='section-header'><h2>The title</h2></div>",
    ];
    for header in headers {
        let text = read("", &format!("{PROSE}{header}{PROSE}{PROSE}"));
        assert!(text.contains("The title"), "{header}: {text}");
    }
}

#[test]
fn a_note_beside_the_text_is_content_and_a_box_of_links_is_not() {
    let aside = "<aside class='note'><p>Never open the hatch while it turns.</p></aside>";
    let related = "<aside><ul><li><a href='/x'>More on mills</a></li></ul></aside>";
    let text = read("", &format!("<h1>Title</h1>{PROSE}{aside}{related}{PROSE}"));
    assert!(text.contains("Never open the hatch"), "{text}");
    assert!(!text.contains("More on mills"), "{text}");
}

#[test]
fn prose_of_an_article_is_content_though_it_is_called_a_menu() {
    let part = |class: &str| format!("<div class='{class}'><h3>Lunch</h3>{PROSE}</div>");
    let links = "<div class='menu'><a href='/a'>One</a> <a href='/b'>Two</a></div>";
    let parts = part("menu-cards") + &part("commentary") + links;
    let text = read("", &format!("<h1>Title</h1>{PROSE}{parts}{PROSE}"));
    assert_eq!(text.matches("Lunch").count(), 2, "{text}");
    assert!(!text.contains("Two"), "{text}");
}

#[test]
fn a_box_of_prose_is_content_though_its_id_is_about_footers() {
    let page = |part: &str| {
        let links: String = (0..15)
            .map(|n| format!("<a href='/{n}'>Entry {n}</a> "))
            .collect();
        everything(&format!(
            "<div id='top'><p>{links}</p>{PROSE}{part}{PROSE}</div>"
        ))
    };
    let note = "<p>Because headers and footers are alike, these pages speak of headers only. What \
        they say of headers holds for footers, too, unless it is said otherwise.</p>";
    let spared = page(&format!(
        "<div id='footer-margin' class='box-tip'>{note}</div>"
    ));
    assert!(spared.contains("unless it is said"), "{spared}");
    for names in ["id='footer'", "id='footer' class='site-footer'"] {
        let text = page(&format!("<div {names}>{note}</div>"));
        assert!(!text.contains("unless it is said"), "{names}: {text}");
    }
}

#[test]
fn an_authors_comment_is_content_and_a_readers_is_not() {
    let around = |part: &str| read("", &format!("<h1>Title</h1>{PROSE}{PROSE}{part}{PROSE}"));
    for class in ["comment", "legal-comment", "box comment", "code_comment"] {
        let text = around(&format!(
            "<div class='{class}'><p>This norm goes back to the old mills act.</p></div>"
        ));
        assert!(text.contains("the old mills act"), "{class}: {text}");
    }
    let said = "<p>I once saw a mill like that, it was great!</p>";
    for part in [
        format!("<div id='comments'><div class='comment'>{said}</div></div>"),
        format!("<ol><li class='comment'>{said}</li></ol>"),
        format!("<div class='comment'>{said}</div><div class='comment'>{said}</div>"),
        format!("<div class='comment' id='comment-7'>{said}</div>"),
        format!("<div class='comment'><b class='comment-author'>Ann</b>{said}</div>"),
        format!("<div class='comment'>{said}<a class='reply' href='/r'>Reply</a></div>"),
        format!("<div class='comment'><time>yesterday</time>{said}</div>"),
    ] {
        let text = around(&part);
        assert!(!text.contains("I once saw"), "{part}: {text}");
    }
}

#[test]
fn a_comment_may_be_all_there_is() {
    let text = read("", &format!("<div class='comment'>{PROSE}</div>"));
    assert!(text.contains("The miller"), "{text}");
    let bare = format!("<div class='comment'>{PROSE}</div>");
    let parsed = crate::parse(bare.as_bytes(), &Hints::default(), &Limits::default()).unwrap();
    assert!(parsed.text.contains("The miller"), "{}", parsed.text);
}

#[test]
fn of_a_manual_all_is_read_but_its_navigation() {
    let head = "<meta name='generator' content='mkdocs-1.5.3'>";
    let short = "<div class='menu'><p>Short.</p></div><ul><li><a href='x'>See also</a></li></ul>";
    let text = read(head, &format!("<h1>Title</h1><p>Words.</p>{short}"));
    assert_eq!(text, "Title\n\nWords.\n\nShort.\n\nSee also");
}

#[test]
fn an_end_tag_written_as_if_it_were_empty_still_ends_what_holds_only_text() {
    for name in [
        "title", "script", "style", "textarea", "iframe", "xmp", "noembed", "noframes",
    ] {
        let page = format!("<{name}>x</{name}/><p>{name} is over</p><!-- c --><p>Next");
        let text = everything(&page);
        assert!(text.contains("is over"), "{name}: {text}");
        assert!(text.contains("Next"), "{name}: {text}");
    }
}

#[test]
fn what_holds_only_text_ends_below_the_deepest_nesting_too() {
    let deep = "<div>".repeat(600);
    for name in [
        "iframe", "xmp", "noembed", "noframes", "noscript", "textarea",
    ] {
        let text = everything(&format!("{deep}<{name}>x</{name}><p>{name} is over</p>"));
        assert!(text.contains("is over"), "{name}: {text}");
    }
}

fn everything(page: &str) -> String {
    let hints = Hints::of_filename("a.html");
    let parsed = crate::parse(page.as_bytes(), &hints, &Limits::default()).unwrap();
    parsed.text
}

//! HTML as browsers show it: words apart, cells in their columns, structure to the end.

use parse::{Hints, Limits};

fn markdown(page: &str) -> String {
    let hints = Hints::of_filename("a.html");
    let parsed = parse::parse(page.as_bytes(), &hints, &Limits::default()).unwrap();
    parse::to_markdown(&parsed)
}

fn row(cells: &str) -> String {
    format!("<tr>{cells}</tr>")
}

#[test]
fn what_follows_a_block_in_a_cell_is_a_word_of_its_own() {
    let rows = row("<td><p>alpha</p>beta<td>Anna<div>Mill</div>er")
        + &row("<td><ul><li>one<li>two</ul>three<td>C<hr>D<br>E")
        + &row("<td><h4>head</h4>body<td>x<blockquote>quoted</blockquote>y")
        + &row("<td>a <pre>b\nc</pre>d<td><a href='https://m.example/'><p>e</p></a>f<b>g</b>");
    assert_eq!(
        markdown(&format!("<table>{rows}</table>")),
        "|  |  |\n| --- | --- |\n| alpha beta | Anna Mill er |\n| one two three | C D E |\n\
         | head body | x quoted y |\n| a b c d | [e](https://m.example/) fg |\n"
    );
}

#[test]
fn a_cell_over_several_rows_ends_where_it_says() {
    let rows = row("<td>r1<td>b1<td rowspan=3>C")
        + &row("<td>r2")
        + &row("<td>r3<td>b3")
        + &row("<td>r4<td>b4<td>D");
    assert_eq!(
        markdown(&format!("<table>{rows}</table>")),
        "|  |  |  |\n| --- | --- | --- |\n| r1 | b1 | C |\n| r2 |  | C |\n| r3 | b3 | C |\n\
         | r4 | b4 | D |\n"
    );
}

#[test]
fn elements_that_are_never_closed_cost_no_structure() {
    let parts: [fn(usize) -> String; 3] = [
        |n| format!("<p><a name='x{n}'>Part {n}.</p>"),
        |_| "<p><font size=2>Part.</p>".to_owned(),
        |n| format!("<p><font size={n}>Part.</p>"),
    ];
    let end = "<h2>Later</h2><ul><li>one<li>two</ul><pre>line 1\n  line 2</pre>";
    for part in parts {
        let page: String = (0..600).map(part).collect();
        let written = markdown(&(page + end));
        let tail = "## Later\n\n- one\n- two\n\n```\nline 1\n  line 2\n```\n";
        assert!(
            written.ends_with(tail),
            "{}",
            &written[written.len() - 99..]
        );
    }
}

#[test]
fn what_is_nested_too_deep_is_read_in_time_and_ends_where_it_ends() {
    for (open, close) in [
        ("<div>", "</div>"),
        ("<b>", "</b>"),
        ("<font size=2>", "</font>"),
        ("<a href=x>", "</a>"),
    ] {
        let (opened, closed) = (open.repeat(100_000), close.repeat(100_000));
        let page = format!("{opened}deep{closed}<h1>After</h1><p>Words.");
        assert_eq!(markdown(&page), "deep\n\n# After\n\nWords.\n", "{open}");
    }
    for open in [
        "<div/>",
        "<b><i><u><a href=x>",
        "<table><font>",
        "</b><div>",
    ] {
        markdown(&(open.repeat(20_000) + "deep"));
    }
}

#[test]
fn what_a_picture_with_a_block_of_its_own_shows_is_read() {
    let page = "<p>Before.</p><p><a href='big.png'><img alt='The mill by the river'></a></p>\
        <div><img alt='img_0042.jpg'></div><p><img alt='The mill by the river'></p><p>See <img alt='a small icon'> here.</p>\
        <table><tr><td>a<td><img alt='in a cell'><tr><td>b<td>c</table>";
    assert_eq!(
        markdown(page),
        "Before.\n\nThe mill by the river\n\nSee here.\n\n\
         |  |  |\n| --- | --- |\n| a | in a cell |\n| b | c |\n"
    );
}

#[test]
fn a_page_in_utf_8_is_read_as_such_though_it_says_otherwise() {
    let page = "<html><head><meta charset=iso-8859-1></head><body><p>M\u{fc}hle, \u{43c}\u{443}\u{43a}\u{430}.</body></html>";
    assert_eq!(
        markdown(page),
        "M\u{fc}hle, \u{43c}\u{443}\u{43a}\u{430}.\n"
    );
}

#[test]
fn an_anchor_written_as_empty_is_one_and_ends_no_link() {
    let page = "<h2><a id='first'/>One</h2><p><a href='https://m.example/'>to <a name='x'/>mills</a>\
        <h2><a name='second'/>Two</h2><svg><a id='y'/></svg><p>Words.";
    let hints = Hints::of_filename("a.html");
    let parsed = parse::parse(page.as_bytes(), &hints, &Limits::default()).unwrap();
    let anchors = parsed.atoms.iter().map(|atom| atom.anchor.as_deref());
    assert_eq!(
        anchors.collect::<Vec<_>>(),
        [Some("first"), None, Some("second"), None]
    );
    assert_eq!(
        parse::to_markdown(&parsed),
        "## One\n\n[to mills](https://m.example/)\n\n## Two\n\nWords.\n"
    );
}

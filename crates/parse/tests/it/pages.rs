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

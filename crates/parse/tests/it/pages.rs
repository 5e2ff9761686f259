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

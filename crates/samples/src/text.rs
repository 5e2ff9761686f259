//! Documents that are text themselves.

pub const MARKDOWN: &str = "\
---
title: The mill
author: 'A. Miller'
---
# Grinding {#grind}

The *stone* turns with [the water](https://example.org/), see [notes][n] and note[^1].
A second line of it.

1. First
2. Second
   - inner one

   more of the second
3. [x] done

> Quoted words.

```rust
fn main() {}
```

| Grain | Share |
| ----- | ----: |
| rye   | 30 |
| `a\\|b` | 70 |

![The wheel](wheel.png)

$$
x^2
$$

<div align=\"center\">inner <b>words</b></div>

Term
: what it means

[^1]: The footnote.

[n]: https://example.org/n
";

pub const TEXT: &str = "The Mill\r\n========\r\n\r\nA paragraph\r\nof two lines.\r\n\r\nAnother, with Gr\u{fc}\u{df}e.\r\n";

pub const CSV: &str =
    "name;amount;\"note, quoted\"\nrye;30;\"two\nlines\"\nwheat;70;\"says \"\"hi\"\"\"\n";

pub const JSON: &str = r#"{"name":"mill","built":1820,"wheels":[{"id":1,"kind":"over"},{"id":2,"kind":"under"}],"owner":{"name":"Ann","tags":["a","b"]}}"#;

pub const JSON_LINES: &str = "{\"n\":1,\"at\":{\"x\":2}}\n{\"n\":2,\"at\":{\"x\":3}}\nnot json\n";

pub const PAGE: &str = r##"<!doctype html><html lang="en"><head><title>On mills</title>
<style>.x{}</style><script>var secret = 1;</script></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li><li><a href="/about">About us</a></li></ul></nav>
<div class="content"><h1 id="top">On mills <a href="#top">¶</a></h1>
<p>Mills grind grain, and have done so for a very long time, in many places, with wind, water and
<a href="https://example.org/muscle">muscle,
as anyone</a> may <a href="/see">see</a>.</p>
<p>The stones are dressed with care, the grooves cut deep, the wood oiled, the wheel greased, and then the water does the rest of it.</p>
<h2 id="parts">Parts</h2>
<ol start="3"><li>The wheel<ul><li>its buckets</li></ul></li><li>The stones</li></ol>
<dl><dt>Hopper</dt><dd>Holds the grain.</dd></dl>
<table><caption>Yield</caption><tr><th>Grain</th><th>Share</th></tr><tr><td rowspan="2">rye</td><td>30</td></tr><tr><td>31</td></tr></table>
<pre><code class="language-sh">mill --grind
</code></pre>
<blockquote><p>Grist for the mill.</p></blockquote>
<figure><img src="w.png" alt="A wheel"><figcaption>The wheel at work.</figcaption></figure>
<p hidden>never shown</p>
<p>One line<br>and another, so that a break is seen, and commas, too, count for something here.</p></div>
<div class="sidebar"><p>Read also: <a href="/a">ten mills you must see</a>, <a href="/b">the best flour</a></p></div>
<footer><p>Copyright, imprint, privacy and all such things that are on every page</p></footer></body></html>"##;

pub const MAIL: &str = "From: Ann <ann@example.org>\r\nTo: Bob <bob@example.org>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Mon, 2 Mar 2026 10:00:00 +0100\r\nMessage-ID: <1@example.org>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nDear Bob,\r\n\r\n> you wrote this\r\n\r\nsee you at the caf=E9.\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"plan.pdf\"\r\n\r\n%PDF-\r\n--b--\r\n";

pub const RTF: &str = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}{\stylesheet{\s0 Normal;}{\s1 heading 1;}}{\info{\title The mill}{\author Ann}}
\pard\s1 Grinding\par
\pard Caf\'e9 and \u8364?5, {\v hidden}shown{\footnote The note.}.\par
{\pntext 1.\tab}First\par
\trowd\pard\intbl a\cell b\cell\row
\pard\intbl c\cell d\cell\row
\pard After\line it.\par}";

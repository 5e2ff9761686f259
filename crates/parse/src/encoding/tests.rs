//! Texts in the encodings people have written in, each told by its bytes alone.

use encoding_rs::Encoding;

use super::*;

const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。\n";
const CHINESE: &str = "天地玄黄,宇宙洪荒。日月盈昃,辰宿列张。\n寒来暑往,秋收冬藏。闰余成岁,律吕调阳。这是一个没有声明编码的中文文本。\n";
const TAIWANESE: &str = "天地玄黃,宇宙洪荒。日月盈昃,辰宿列張。\n寒來暑往,秋收冬藏。閏餘成歲,律呂調陽。這是一個沒有宣告編碼的中文文件。\n";
const KOREAN: &str = "모든 국민은 법 앞에 평등하다. 누구든지 성별에 의하여 차별을 받지 아니한다.\n나라의 말이 중국과 달라 문자와 서로 통하지 아니하다.\n";
const RUSSIAN: &str = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\nВсе смешалось в доме Облонских.\n";
const GREEK: &str =
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.\n";
const POLISH: &str = "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem.\n";
const HEBREW: &str =
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.\n";
const ARABIC: &str = "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق وقد وهبوا عقلاً وضميراً.\n";
const FRENCH: &str = "Tous les êtres humains naissent libres et égaux en dignité et en droits, l\u{2019}été comme à Noël, où qu'ils soient nés, après bien des années.\n";
const GERMAN: &str = "Alle Menschen sind frei und gleich an Würde und Rechten geboren; über die Straße führt eine schöne Brücke für Fußgänger.\n";

fn told(bytes: &[u8]) -> Option<String> {
    decode(bytes).map(|(text, _)| text)
}

#[test]
fn a_text_is_read_in_the_encoding_it_was_written_in() {
    let written = [
        ("iso-2022-jp", JAPANESE),
        ("shift_jis", JAPANESE),
        ("euc-jp", JAPANESE),
        ("gb18030", CHINESE),
        ("gbk", CHINESE),
        ("big5", TAIWANESE),
        ("euc-kr", KOREAN),
        ("koi8-r", RUSSIAN),
        ("windows-1251", RUSSIAN),
        ("iso-8859-5", RUSSIAN),
        ("windows-1253", GREEK),
        ("windows-1250", POLISH),
        ("iso-8859-2", POLISH),
        ("windows-1255", HEBREW),
        ("windows-1256", ARABIC),
        ("windows-1252", FRENCH),
        ("windows-1252", GERMAN),
        ("macintosh", FRENCH),
        ("macintosh", GERMAN),
        ("utf-8", JAPANESE),
    ];
    for (label, text) in written {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        let (bytes, _, lost) = encoding.encode(text);
        assert!(!lost, "{label} holds the text");
        assert_eq!(told(&bytes).as_deref(), Some(text), "{label}");
    }
}

/// As DOS wrote it, for the few letters of the tests.
fn in_dos(text: &str) -> Vec<u8> {
    let byte = |c: char| match c {
        'ü' => 0x81,
        'é' => 0x82,
        'ä' => 0x84,
        'è' => 0x8a,
        'ö' => 0x94,
        'ß' => 0xe1,
        c => u8::try_from(c).unwrap(),
    };
    text.chars().map(byte).collect()
}

#[test]
fn letters_of_dos_are_told_from_control_characters() {
    for text in [
        "Die Mühle ist schön.\n",
        GERMAN,
        "Die Mühle; un café, une crème.\n",
    ] {
        assert_eq!(told(&in_dos(text)).as_deref(), Some(text));
    }
}

#[test]
fn a_byte_that_means_nothing_is_shown_to_be_missing() {
    let (text, lost) = Charset::named("windows-1252").unwrap().decode(b"a \x81 b");
    assert_eq!((&*text, lost), ("a \u{fffd} b", true));
}

#[test]
fn a_text_is_told_by_its_first_letters_however_late_they_come() {
    for late in [60_000, 65_530, 65_536, 200_000] {
        let plain = "plain words here\n".repeat(late / 17);
        for (label, words) in [
            ("windows-1252", GERMAN),
            ("utf-8", GERMAN),
            ("koi8-r", RUSSIAN),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let text = format!("{plain}{words}");
            let (bytes, _, _) = encoding.encode(&text);
            assert!(
                told(&bytes).as_deref() == Some(&*text),
                "{label} after {late}"
            );
        }
    }
}

#[test]
fn a_broken_byte_makes_no_other_text_of_utf_8() {
    let plain = "plain words here\n".repeat(50);
    let bytes = [
        plain.as_bytes(),
        "Mühle\n".as_bytes(),
        b"\xff\n",
        plain.as_bytes(),
    ]
    .concat();
    assert_eq!(
        told(&bytes),
        Some(format!("{plain}Mühle\n\u{fffd}\n{plain}"))
    );
    // A capital letter before a closing quote looks like one character, too.
    let (french, _, _) = encoding_rs::WINDOWS_1252.encode("le «CAFÉ» et un été\n");
    assert_eq!(told(&french).as_deref(), Some("le «CAFÉ» et un été\n"));
}

fn utf16(text: &str, of: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(of).collect()
}

fn utf32(text: &str, of: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
    text.chars().flat_map(|c| of(c as u32)).collect()
}

#[test]
fn wide_characters_need_no_mark_in_any_script() {
    for text in [JAPANESE, CHINESE, KOREAN, RUSSIAN, ARABIC, GERMAN] {
        for mark in ["", "\u{feff}"] {
            let marked = format!("{mark}{text}");
            let files = [
                utf16(&marked, u16::to_le_bytes),
                utf16(&marked, u16::to_be_bytes),
                utf32(&marked, u32::to_le_bytes),
                utf32(&marked, u32::to_be_bytes),
            ];
            for file in files {
                assert_eq!(told(&file).as_deref(), Some(text));
            }
        }
    }
}

#[test]
fn a_coloured_log_is_plain_text() {
    let log = "\u{1b}[32mINFO\u{1b}[0m started\n\u{1b}[31mERROR\u{1b}[0m stopped\n";
    assert_eq!(detect(log.as_bytes()), Some(Charset::utf_8()));
}

#[test]
fn a_program_is_no_text() {
    let program: Vec<u8> = (0..=255).cycle().take(4096).collect();
    assert_eq!(told(&program), None);
    let numbers: Vec<u8> = (0..2048u16).flat_map(|n| (n % 40).to_le_bytes()).collect();
    assert_eq!(told(&numbers), None);
}

#[test]
fn places_lead_back_to_the_bytes_a_word_came_from() {
    let text = format!("{RUSSIAN}{GERMAN}").replace('ß', "ss");
    let word = "Brücke";
    let at = text.find(word).unwrap();
    let files = [
        utf16(&text, u16::to_le_bytes),
        utf32(&text, u32::to_be_bytes),
        text.as_bytes().to_vec(),
    ];
    for file in files {
        let (read, places) = decode(&file).unwrap();
        let (start, end) = places.range(&read, at, at + word.len());
        let charset = detect(&file).unwrap();
        let (cut, _) = charset.decode(&file[start as usize..end as usize]);
        assert_eq!(cut, word, "{}", charset.name());
    }
    // Where characters take one byte or two, a little more is cut out.
    let (file, _, _) = encoding_rs::SHIFT_JIS.encode("mill \u{3042}\u{308b} stone \u{6c34} ends\n");
    let file = file.repeat(20);
    let (read, places) = decode(&file).unwrap();
    let at = read.rfind("stone").unwrap();
    let (start, end) = places.range(&read, at, at + "stone".len());
    let (cut, _) =
        encoding_rs::SHIFT_JIS.decode_without_bom_handling(&file[start as usize..end as usize]);
    assert!(cut.contains("stone") && cut.len() < 300, "{cut}");
}

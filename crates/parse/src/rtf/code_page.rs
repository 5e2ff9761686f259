//! Which characters the bytes of a text stand for, by code page or by the script of its font.

use encoding_rs::{Encoding, WINDOWS_1252};

pub(super) fn numbered(number: Option<i32>) -> &'static Encoding {
    let label = match number {
        Some(932) => "shift_jis".to_owned(),
        Some(936) => "gbk".to_owned(),
        Some(949) => "euc-kr".to_owned(),
        Some(950) => "big5".to_owned(),
        Some(65001) => "utf-8".to_owned(),
        Some(10000) => "macintosh".to_owned(),
        Some(number) => format!("windows-{number}"),
        None => return WINDOWS_1252,
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}

/// The code page a font's script implies; none for those that say nothing.
pub(super) fn of_script(script: i32) -> Option<&'static Encoding> {
    let number = match script {
        77 => 10000,
        128 => 932,
        129 | 130 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178..=180 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    };
    Some(numbered(Some(number)))
}

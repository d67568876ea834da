//! Files and bodies as they were recorded.
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use ibid_net::retry_after::ResponseHeaders;
use serde_json::Value;

use crate::Fault;

/// The text of a file of rows, packed or not.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    let about = |error: std::io::Error| format!("{}: {error}", path.display());
    let raw = fs::read(path).map_err(about)?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        MultiGzDecoder::new(raw.as_slice()).read_to_string(&mut text).map_err(about)?;
    } else {
        text = String::from_utf8(raw)?;
    }
    Ok(text)
}

/// The body of a recorded answer.
pub(super) fn body(row: &Value) -> Vec<u8> {
    let is_coded = row.pointer("/response/body_encoding").and_then(Value::as_str) == Some("base64");
    match row.pointer("/response/body") {
        Some(Value::String(text)) if is_coded => base64(text),
        Some(Value::String(text)) => text.clone().into_bytes(),
        None | Some(Value::Null) => Vec::new(),
        Some(other) => other.to_string().into_bytes(),
    }
}

/// The headers of a recorded answer.
pub(super) fn headers(row: &Value) -> ResponseHeaders {
    let headers = row.pointer("/response/headers");
    headers.map(ResponseHeaders::from_json).unwrap_or_default()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        bits = bits << 6 | digit as u32 & 63;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 255) as u8);
        }
    }
    out
}

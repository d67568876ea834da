//! Reads the tensors of a safetensors file: a length, a header in JSON, and numbers.
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::quantized_matrix::QuantizedMatrix;

/// Bytes of a header; a larger one is rejected.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// A tensor of floats.
pub(crate) struct FloatTensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// An open file of tensors. Each tensor is read once. Several threads may read.
pub(crate) struct TensorFile {
    unread: Mutex<UnreadTensors>,
    /// The offset of the numbers in the file.
    begin: u64,
    /// Bytes of the file.
    length: u64,
}

struct UnreadTensors {
    file: File,
    /// The rows of the header.
    header: Map<String, Value>,
}

impl TensorFile {
    pub(crate) fn open(path: &Path) -> Result<TensorFile, String> {
        let fault = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = File::open(path).map_err(fault)?;
        let bytes = file.metadata().map_err(fault)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(fault)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(format!("{} is not a safetensors file", path.display()));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(fault)?;
        let header = serde_json::from_slice(&header)
            .map_err(|error| format!("the header of {}: {error}", path.display()))?;
        let unread = Mutex::new(UnreadTensors { file, header });
        Ok(TensorFile { unread, begin: 8 + length, length: bytes })
    }

    /// The matrix called `name`: 8-bit numbers (`I8`) with the scales called `name.scale`, or floats, which are quantized.
    pub(crate) fn quantized_matrix(&self, name: &str) -> Result<QuantizedMatrix, String> {
        let (dtype, shape, bytes) = self.bytes(name)?;
        let [rows, columns] = shape[..] else {
            return Err(format!("tensor {name} is not a matrix"));
        };
        if dtype != "I8" {
            return Ok(QuantizedMatrix::quantize(columns, &floats(name, &dtype, &bytes)?));
        }
        let scales = self.vector(&format!("{name}.scale"))?;
        if scales.len() != rows {
            return Err(format!("tensor {name}: rows and scales differ in number"));
        }
        let values = bytes.into_iter().map(u8::cast_signed).collect();
        Ok(QuantizedMatrix { rows, columns, values, scales })
    }

    /// All numbers of the tensor called `name`.
    pub(crate) fn vector(&self, name: &str) -> Result<Vec<f32>, String> {
        Ok(self.float_tensor(name)?.values)
    }

    /// The tensor of floats called `name`.
    pub(crate) fn float_tensor(&self, name: &str) -> Result<FloatTensor, String> {
        let (dtype, shape, bytes) = self.bytes(name)?;
        Ok(FloatTensor { shape, values: floats(name, &dtype, &bytes)? })
    }

    /// The first tensor that was not read yet and whose name begins with `prefix`.
    pub(crate) fn first_unread(&self, prefix: &str) -> Option<String> {
        let unread = self.lock();
        let names = unread.header.keys().filter(|name| *name != "__metadata__");
        names.into_iter().find(|name| name.starts_with(prefix)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, UnreadTensors> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The type, the shape and the bytes of a tensor.
    fn bytes(&self, name: &str) -> Result<(String, Vec<usize>, Vec<u8>), String> {
        let mut unread = self.lock();
        let UnreadTensors { file, header } = &mut *unread;
        let row = header
            .remove(name)
            .or_else(|| header.remove(&format!("bert.{name}")))
            .ok_or_else(|| format!("tensor {name} is missing"))?;
        let dtype = row["dtype"].as_str().unwrap_or_default().to_owned();
        let size = match dtype.as_str() {
            "I8" => 1,
            "F16" => 2,
            _ => 4,
        };
        let whole = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        let list = |value: &Value| -> Vec<usize> {
            value.as_array().into_iter().flatten().filter_map(whole).collect()
        };
        let (shape, place) = (list(&row["shape"]), list(&row["data_offsets"]));
        let count = shape.iter().try_fold(size, |count: usize, it| count.checked_mul(*it));
        let [from, to] = place[..] else {
            return Err(format!("tensor {name} has no offsets"));
        };
        if to.checked_sub(from) != count || to as u64 > self.length {
            return Err(format!("tensor {name}: size and shape differ"));
        }
        let mut bytes = vec![0; to - from];
        file.seek(SeekFrom::Start(self.begin + from as u64))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| format!("tensor {name}: {error}"))?;
        Ok((dtype, shape, bytes))
    }
}

fn floats(name: &str, dtype: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    let numbers: Vec<f32> = match dtype {
        "F32" => bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect(),
        "F16" => bytes.as_chunks::<2>().0.iter().map(|it| half(u16::from_le_bytes(*it))).collect(),
        _ => return Err(format!("tensor {name} is of type {dtype}, not F32 or F16")),
    };
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(format!("tensor {name} has values that are NaN or infinite"));
    }
    Ok(numbers)
}

/// The number whose 16 bits (IEEE 754 binary16) are `bits`.
fn half(bits: u16) -> f32 {
    // An exponent of 5 bits counts from 15, one of 8 bits from 127. The product is exact for the smallest numbers also.
    const TWO_TO_112: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = match bits & 0x7fff {
        it @ 0..0x7c00 => f32::from_bits(u32::from(it) << 13) * TWO_TO_112,
        0x7c00 => f32::INFINITY,
        _ => f32::NAN,
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read_as_ieee_754_has_them() {
        let known = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x83ff, -6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, number) in known {
            assert_eq!(half(bits), number, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}

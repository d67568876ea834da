//! Reads the tensors of a safetensors file: a length, a header in JSON, and numbers.
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::quantized_matrix::QuantizedMatrix;

/// Bytes of a header; a larger one is rejected.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// An open file of tensors.
pub(crate) struct TensorFile {
    file: File,
    header: Value,
    /// The offset of the numbers in the file.
    begin: u64,
    /// Bytes of the file.
    length: u64,
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
        Ok(TensorFile { file, header, begin: 8 + length, length: bytes })
    }

    /// The matrix called `name`: 8-bit numbers (`I8`) with the scales called `name.scale`, or floats, which are quantized.
    pub(crate) fn quantized_matrix(&mut self, name: &str) -> Result<QuantizedMatrix, String> {
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
    pub(crate) fn vector(&mut self, name: &str) -> Result<Vec<f32>, String> {
        let (dtype, _, bytes) = self.bytes(name)?;
        floats(name, &dtype, &bytes)
    }

    /// The type, the shape and the bytes of a tensor.
    fn bytes(&mut self, name: &str) -> Result<(String, Vec<usize>, Vec<u8>), String> {
        let row = self
            .header
            .get(name)
            .or_else(|| self.header.get(format!("bert.{name}")))
            .ok_or_else(|| format!("tensor {name} is missing"))?;
        let dtype = row["dtype"].as_str().unwrap_or_default().to_owned();
        let size = if dtype == "I8" { 1 } else { 4 };
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
        self.file
            .seek(SeekFrom::Start(self.begin + from as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| format!("tensor {name}: {error}"))?;
        Ok((dtype, shape, bytes))
    }
}

fn floats(name: &str, dtype: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    if dtype != "F32" {
        return Err(format!("tensor {name} is of type {dtype}, not F32"));
    }
    let numbers: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect();
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(format!("tensor {name} has values that are no numbers"));
    }
    Ok(numbers)
}

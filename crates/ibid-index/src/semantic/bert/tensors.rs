//! Reads the tensors of a safetensors file: a length, a header in JSON, and numbers.
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use ndarray::{Array1, Array2};
use serde_json::Value;

/// Bytes of a header; a larger one is rejected.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// An open file of tensors.
pub(super) struct TensorFile {
    file: File,
    header: Value,
    /// The offset of the numbers in the file.
    begin: u64,
}

impl TensorFile {
    pub(super) fn open(path: &Path) -> Result<TensorFile, String> {
        let fault = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = File::open(path).map_err(fault)?;
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
        Ok(TensorFile { file, header, begin: 8 + length })
    }

    /// The matrix called `name`.
    pub(super) fn matrix(&mut self, name: &str) -> Result<Array2<f32>, String> {
        let (shape, numbers) = self.numbers(name)?;
        let [rows, columns] = shape[..] else {
            return Err(format!("tensor {name} is not a matrix"));
        };
        Array2::from_shape_vec((rows, columns), numbers)
            .map_err(|error| format!("tensor {name}: {error}"))
    }

    /// The vector called `name`.
    pub(super) fn vector(&mut self, name: &str) -> Result<Array1<f32>, String> {
        Ok(Array1::from(self.numbers(name)?.1))
    }

    fn numbers(&mut self, name: &str) -> Result<(Vec<usize>, Vec<f32>), String> {
        let row = self
            .header
            .get(name)
            .or_else(|| self.header.get(format!("bert.{name}")))
            .ok_or_else(|| format!("tensor {name} is missing"))?;
        if row["dtype"] != "F32" {
            return Err(format!("tensor {name} is of type {}, not F32", row["dtype"]));
        }
        let whole = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        let list = |value: &Value| -> Vec<usize> {
            value.as_array().into_iter().flatten().filter_map(whole).collect()
        };
        let (shape, place) = (list(&row["shape"]), list(&row["data_offsets"]));
        let count: usize = shape.iter().product();
        let [from, to] = place[..] else {
            return Err(format!("tensor {name} has no offsets"));
        };
        if to.checked_sub(from) != count.checked_mul(4) {
            return Err(format!("tensor {name}: size and shape differ"));
        }
        let mut bytes = vec![0; to - from];
        self.file
            .seek(SeekFrom::Start(self.begin + from as u64))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| format!("tensor {name}: {error}"))?;
        let numbers = bytes.as_chunks::<4>().0.iter();
        Ok((shape, numbers.map(|number| f32::from_le_bytes(*number)).collect()))
    }
}

//! The weights of a model, changed by an adapter if there is one.
//!
//! An adapter (LoRA, Hu and others 2021) has two narrow matrices for a linear map, `NAME.lora_A` of the shape `[rank, inputs]` and
//! `NAME.lora_B` of `[outputs, rank]`, whose product is added to its weights. Vectors of the same name and shape stand in place of
//! the model's.
use std::path::Path;

use crate::quantized_matrix::QuantizedMatrix;
use crate::tensors::{FloatTensor, TensorFile};

/// The largest number of 16 bits. A larger one in a tensor of 32 bits is damage.
const LARGEST: f32 = 65504.0;

/// Where the weights of a model are read from.
pub(crate) struct Weights {
    model: TensorFile,
    adapter: Option<TensorFile>,
}

impl Weights {
    pub(crate) fn open(model: &Path, adapter: Option<&Path>) -> Result<Weights, String> {
        let adapter = adapter.map(TensorFile::open).transpose()?;
        Ok(Weights { model: TensorFile::open(model)?, adapter })
    }

    /// Whether the adapter has a tensor whose name begins with `prefix`.
    pub(crate) fn adapts(&self, prefix: &str) -> bool {
        self.adapter.iter().any(|it| it.first_unread(prefix).is_some())
    }

    /// The matrix called `name` of the model.
    pub(crate) fn matrix(&self, name: &str) -> Result<QuantizedMatrix, String> {
        self.model.quantized_matrix(name)
    }

    /// The weights of the linear map called `name`, with the adapter's product added.
    pub(crate) fn linear(&self, name: &str) -> Result<QuantizedMatrix, String> {
        let mut weight = self.model.quantized_matrix(&format!("{name}.weight"))?;
        if !self.adapts(&format!("{name}.lora_")) {
            return Ok(weight);
        }
        let right = self.added(&format!("{name}.lora_A"))?;
        let left = self.added(&format!("{name}.lora_B"))?;
        let rank = right.shape.first().copied().unwrap_or_default();
        if rank == 0 || right.shape != [rank, weight.columns] || left.shape != [weight.rows, rank] {
            return Err(format!(
                "tensors {name}.lora_A and {name}.lora_B have the shapes {:?} and {:?}, which do not fit a weight of {:?}",
                right.shape,
                left.shape,
                [weight.rows, weight.columns]
            ));
        }
        match weight.add_product(&left.values, &right.values, rank) {
            true => Ok(weight),
            false => Err(format!("tensor {name}.lora_B yields weights that are NaN or infinite")),
        }
    }

    /// The numbers of the tensor called `name`: the adapter's, or else the model's.
    pub(crate) fn vector(&self, name: &str) -> Result<Vec<f32>, String> {
        let own = self.model.float_tensor(name)?;
        if !self.adapts(name) {
            return Ok(own.values);
        }
        let other = self.added(name)?;
        match own.shape == other.shape {
            true => Ok(other.values),
            false => {
                Err(format!("tensor {name} has the shape {:?}, not {:?}", other.shape, own.shape))
            }
        }
    }

    /// The tensor called `name` of the adapter.
    pub(crate) fn added(&self, name: &str) -> Result<FloatTensor, String> {
        let missing = || format!("tensor {name} is missing");
        let tensor = self.adapter.as_ref().ok_or_else(missing)?.float_tensor(name)?;
        match tensor.values.iter().all(|it| it.abs() <= LARGEST) {
            true => Ok(tensor),
            false => Err(format!("tensor {name} has values above {LARGEST}")),
        }
    }

    /// Fails if the adapter has a tensor that was not asked for: its name is misspelled, or it is for another model.
    pub(crate) fn finish(&self) -> Result<(), String> {
        match self.adapter.as_ref().and_then(|it| it.first_unread("")) {
            Some(name) => Err(format!("tensor {name} belongs to no part of the model")),
            None => Ok(()),
        }
    }
}

//! Reading JSON values whose shape is not known.
use serde_json::Value;

/// Returns the elements of the list `name`, or an empty slice.
pub fn list_field<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

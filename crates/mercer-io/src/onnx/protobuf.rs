//! The few messages of ONNX's protobuf schema that a model needs, written by hand: fields in ascending order, nothing else.

/// Types of tensor elements, by their numbers in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Integer = 7,
    Text = 8,
    Truth = 9,
    Double = 11,
}

/// A message under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    pub bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// An integer field.
    pub fn integer(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field << 3));
        // Negative numbers are ten bytes of two's complement.
        self.varint(value as u64);
        self
    }

    /// A field of bytes, text or another message.
    pub fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        self.varint(u64::from(field << 3 | 2));
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A field of text.
    pub fn text(self, field: u32, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    /// A field that is a message itself.
    pub fn message(self, field: u32, value: &Message) -> Self {
        self.bytes(field, &value.bytes)
    }
}

/// A value of an operator's attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attribute {
    pub name: &'static str,
    pub value: i64,
}

/// `NodeProto`.
pub(super) fn node(
    operator: &str,
    name: &str,
    inputs: &[&str],
    outputs: &[String],
    attributes: &[Attribute],
) -> Message {
    const INTEGER: i64 = 2;
    let mut node = Message::default();
    node = inputs.iter().fold(node, |node, input| node.text(1, input));
    node = outputs.iter().fold(node, |node, output| node.text(2, output));
    node = node.text(3, name).text(4, operator);
    attributes.iter().fold(node, |node, Attribute { name, value }| {
        node.message(5, &Message::default().text(1, name).integer(3, *value).integer(20, INTEGER))
    })
}

/// The beginning of a `TensorProto`: shape and type.
fn tensor(dims: &[usize], of: Element) -> Message {
    let tensor = dims.iter().fold(Message::default(), |tensor, dim| tensor.integer(1, *dim as i64));
    tensor.integer(2, of as i64)
}

/// A tensor of numbers or truth values, given as the bytes of its elements one after the other.
pub(super) fn raw_tensor(name: &str, dims: &[usize], of: Element, bytes: &[u8]) -> Message {
    tensor(dims, of).text(8, name).bytes(9, bytes)
}

/// A tensor of text.
pub(super) fn text_tensor(name: &str, cells: &[String]) -> Message {
    let tensor = tensor(&[cells.len()], Element::Text);
    cells.iter().fold(tensor, |tensor, cell| tensor.text(6, cell)).text(8, name)
}

/// `ValueInfoProto` of a tensor with one row per example, and `width` columns if it has columns.
pub(super) fn value(name: &str, of: Element, width: Option<usize>) -> Message {
    let rows = Message::default().text(2, "rows");
    let mut shape = Message::default().message(1, &rows);
    if let Some(width) = width {
        shape = shape.message(1, &Message::default().integer(1, width as i64));
    }
    let tensor = Message::default().integer(1, of as i64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_wire_format() {
        // The examples of the protobuf documentation: 150 in field 1, "testing" in field 2.
        assert_eq!(Message::default().integer(1, 150).bytes, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").bytes, *b"\x12\x07testing");
        assert_eq!(Message::default().integer(1, -2).bytes.len(), 11);
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, &inner).bytes, [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}

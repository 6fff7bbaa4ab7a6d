//! A graph of operators under construction.

use super::protobuf::{Attribute, Element, Message, node, raw_tensor, text_tensor, value};

/// Values are known by their names.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    count: usize,
}

impl Graph {
    fn fresh(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{}_{}", what.to_ascii_lowercase(), self.count)
    }

    /// The value of an operator.
    pub fn apply(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.apply_with(operator, inputs, &[])
    }

    /// The same for an operator with attributes.
    pub fn apply_with(&mut self, operator: &str, inputs: &[&str], attributes: &[Attribute]) -> String {
        let output = self.fresh(operator);
        self.nodes.push(node(operator, &output, inputs, std::slice::from_ref(&output), attributes));
        output
    }

    /// The values of an operator that has several.
    pub fn apply_many(
        &mut self,
        operator: &str,
        inputs: &[&str],
        count: usize,
        attributes: &[Attribute],
    ) -> Vec<String> {
        let name = self.fresh(operator);
        let outputs: Vec<String> = (0..count).map(|index| format!("{name}_{index}")).collect();
        self.nodes.push(node(operator, &name, inputs, &outputs, attributes));
        outputs
    }

    /// A constant of numbers, row by row.
    pub fn doubles(&mut self, dims: &[usize], data: impl IntoIterator<Item = f64>) -> String {
        let bytes: Vec<u8> = data.into_iter().flat_map(f64::to_le_bytes).collect();
        self.constant(dims, Element::Double, &bytes)
    }

    /// A constant that goes with every element.
    pub fn scalar(&mut self, number: f64) -> String {
        self.doubles(&[], [number])
    }

    /// A row that goes with every row.
    pub fn row(&mut self, data: &[f64]) -> String {
        self.doubles(&[1, data.len()], data.iter().copied())
    }

    /// A constant of whole numbers.
    pub fn integers(&mut self, data: &[usize]) -> String {
        let bytes: Vec<u8> = data.iter().flat_map(|x| (*x as i64).to_le_bytes()).collect();
        self.constant(&[data.len()], Element::Integer, &bytes)
    }

    /// The shape of a matrix with this many columns, whatever its rows.
    pub fn shape(&mut self, columns: Option<usize>) -> String {
        let dims: Vec<i64> = std::iter::once(-1).chain(columns.map(|columns| columns as i64)).collect();
        let bytes: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
        self.constant(&[dims.len()], Element::Integer, &bytes)
    }

    /// A row of truth values.
    pub fn truths(&mut self, data: &[bool]) -> String {
        let bytes: Vec<u8> = data.iter().map(|x| u8::from(*x)).collect();
        self.constant(&[1, data.len()], Element::Truth, &bytes)
    }

    /// A constant of text.
    pub fn texts(&mut self, cells: &[String]) -> String {
        let name = self.fresh("constant");
        self.constants.push(text_tensor(&name, cells));
        name
    }

    fn constant(&mut self, dims: &[usize], of: Element, bytes: &[u8]) -> String {
        let name = self.fresh("constant");
        self.constants.push(raw_tensor(&name, dims, of, bytes));
        name
    }

    pub fn input(&mut self, name: &str, width: usize) {
        self.inputs.push(value(name, Element::Double, Some(width)));
    }

    /// Gives a value to the outside under this name.
    pub fn output(&mut self, name: &str, from: &str, of: Element, width: Option<usize>) {
        self.nodes.push(node("Identity", name, &[from], &[name.to_owned()], &[]));
        self.outputs.push(value(name, of, width));
    }

    /// `GraphProto`.
    pub fn finish(self, name: &str, about: &str) -> Message {
        let mut graph = Message::default();
        graph = self.nodes.iter().fold(graph, |graph, node| graph.message(1, node)).text(2, name);
        graph = self.constants.iter().fold(graph, |graph, constant| graph.message(5, constant)).text(10, about);
        graph = self.inputs.iter().fold(graph, |graph, input| graph.message(11, input));
        self.outputs.iter().fold(graph, |graph, output| graph.message(12, output))
    }
}

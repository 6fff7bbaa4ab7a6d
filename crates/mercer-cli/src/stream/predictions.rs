//! Row, target and prediction of every row.

use mercer::data::{Column, Frame};
use mercer_io::{Table, TableWriter};

/// Where they go: into a table that grows, or one that is written at the end.
pub struct Predictions {
    path: String,
    /// Begun with the first rows, so that a run that is refused leaves a file as it was.
    writer: Option<TableWriter>,
    /// Rows that are not written yet, and how many are.
    targets: Vec<f64>,
    predicted: Vec<f64>,
    written: usize,
    target: String,
}

impl Predictions {
    pub fn to(path: &str) -> Self {
        let (path, target) = (path.to_owned(), String::new());
        Predictions { path, writer: None, targets: Vec::new(), predicted: Vec::new(), written: 0, target }
    }

    /// Rows with their predictions; CSV has them when this returns.
    pub fn add(&mut self, rows: &Frame, target: &str, predicted: Vec<Option<f64>>) -> anyhow::Result<()> {
        target.clone_into(&mut self.target);
        self.predicted.extend(predicted.into_iter().map(|value| value.unwrap_or(f64::NAN)));
        match rows.column(target)? {
            Column::Number(cells) => self.targets.extend_from_slice(cells),
            Column::Text(cells) => self.targets.extend(cells.iter().map(|_| f64::NAN)),
        }
        if self.writer.is_none() && self.written == 0 {
            self.writer = TableWriter::growing(&self.path)?;
        }
        if self.writer.is_some() {
            let frame = self.take()?;
            if let Some(writer) = &mut self.writer {
                writer.write(&Table::from(frame), &[])?;
            }
        }
        Ok(())
    }

    pub fn finish(mut self) -> anyhow::Result<()> {
        match self.writer.take() {
            Some(writer) => writer.finish()?,
            None => {
                let frame = self.take()?;
                mercer_io::write_frame(&self.path, &frame)?;
            }
        }
        Ok(())
    }

    /// The rows that are not written yet, as a table.
    fn take(&mut self) -> mercer::Result<Frame> {
        let (targets, predicted) = (std::mem::take(&mut self.targets), std::mem::take(&mut self.predicted));
        let target = self.target.as_str();
        let mut frame = Frame::new(targets.len());
        let numbers = self.written + 1..=self.written + targets.len();
        self.written += targets.len();
        frame.push("row", Column::Number(numbers.map(|row| row as f64).collect()))?;
        frame.push(if target == "row" { "target" } else { target }, Column::Number(targets))?;
        frame.push(if target == "prediction" { "predicted" } else { "prediction" }, Column::Number(predicted))?;
        Ok(frame)
    }
}

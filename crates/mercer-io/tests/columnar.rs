//! Parquet and Arrow IPC.
#![cfg(feature = "arrow")]

mod common;

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use common::{Random, damage, numbers, problem, read, rounds, texts};
use mercer::data::{Column, Frame, Reading};
use mercer_io::{Error, Format, ReadOptions, read_bytes, write, write_frame};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn ipc_file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), batch.schema_ref(), options).unwrap();
    // Twice, to have more than one batch.
    writer.write(&batch.slice(0, 1)).unwrap();
    writer.write(&batch.slice(1, batch.num_rows() - 1)).unwrap();
    writer.into_inner().unwrap()
}

fn ipc_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// The batch in every packing that other programs use.
fn all_packings(batch: &RecordBatch) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("t.stream.arrow".to_owned(), ipc_stream(batch)), ("stdin".to_owned(), ipc_stream(batch))];
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        files.push((format!("t.{codec:?}.parquet"), parquet(batch, codec)));
    }
    for codec in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        files.push((format!("t.{codec:?}.arrow"), ipc_file(batch, codec)));
    }
    files
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn numbers_of_all_kinds() {
    let batch = batch(vec![
        ("int", Arc::new(Int64Array::from(vec![Some(-1), None, Some(i64::MAX)]))),
        ("uint", Arc::new(UInt64Array::from(vec![1, 2, u64::MAX]))),
        ("single", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(f32::INFINITY)]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        (
            "decimal",
            Arc::new(Decimal128Array::from(vec![Some(12345), None, Some(-5)]).with_precision_and_scale(10, 2).unwrap()),
        ),
        ("nothing", Arc::new(NullArray::new(3))),
        ("coded", {
            let keys = arrow_array::Int8Array::from(vec![Some(1), None, Some(0)]);
            Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(Int64Array::from(vec![7, 8]))))
        }),
    ]);
    for (name, bytes) in all_packings(&batch) {
        let frame = read(&bytes, &name).unwrap().frame;
        assert_eq!(numbers(&frame, "int"), [Some(-1.0), None, Some(i64::MAX as f64)], "{name}");
        assert_eq!(numbers(&frame, "uint"), [Some(1.0), Some(2.0), Some(u64::MAX as f64)], "{name}");
        assert_eq!(numbers(&frame, "single"), [Some(0.5), None, Some(f64::INFINITY)], "{name}");
        assert_eq!(numbers(&frame, "bool"), [Some(1.0), Some(0.0), None], "{name}");
        assert_eq!(numbers(&frame, "decimal"), [Some(123.45), None, Some(-0.05)], "{name}");
        assert_eq!(numbers(&frame, "nothing"), [None; 3], "{name}");
        assert_eq!(numbers(&frame, "coded"), [Some(8.0), None, Some(7.0)], "{name}");
    }
}

#[test]
fn text_of_all_kinds() {
    let words = [Some("rot"), None, Some("ein Wort von mehr als zwölf Buchstaben")];
    let bytes = words.map(|word| word.map(str::as_bytes)).to_vec();
    let batch = batch(vec![
        ("small", Arc::new(StringArray::from(words.to_vec()))),
        ("large", Arc::new(LargeStringArray::from(words.to_vec()))),
        ("view", Arc::new(StringViewArray::from(words.to_vec()))),
        ("coded", Arc::new(words.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("binary", Arc::new(BinaryArray::from(bytes.clone()))),
        ("binary view", Arc::new(BinaryViewArray::from(bytes))),
    ]);
    for (name, bytes) in all_packings(&batch) {
        let frame = read(&bytes, &name).unwrap().frame;
        for column in frame.names() {
            assert_eq!(texts(&frame, column), words.map(|word| word.map(str::to_owned)), "{name} {column}");
        }
    }
}

#[test]
fn dates_are_days() {
    let times = || TimestampMicrosecondArray::from(vec![Some(1_700_000_000_000_000), None]);
    let batch = batch(vec![
        ("day", Arc::new(Date32Array::from(vec![Some(0), None]))),
        ("time", Arc::new(times())),
        ("utc", Arc::new(times().with_timezone("UTC"))),
        ("zone", Arc::new(times().with_timezone("Europe/Berlin"))),
    ]);
    for (name, bytes) in all_packings(&batch) {
        let frame = read(&bytes, &name).unwrap().frame;
        let second = 1_700_000_000.0 / 86400.0;
        for (column, days, written, reading) in [
            ("day", 0.0, "1970-01-01", Reading::Date),
            ("time", second, "2023-11-14T22:13:20", Reading::Date),
            ("utc", second, "2023-11-14T22:13:20Z", Reading::Instant),
            ("zone", second, "2023-11-14T22:13:20Z", Reading::Instant),
        ] {
            assert_eq!(numbers(&frame, column), [Some(days), None], "{name}");
            assert_eq!(frame.texts(column).unwrap(), [some(written), None], "{name}");
            assert_eq!(frame.reading(column), reading, "{name}");
        }
    }
}

#[test]
fn nested_columns_are_refused_by_name_and_type() {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_value([None]);
    let batch = batch(vec![("tags", Arc::new(lists.finish()))]);
    for (name, bytes) in all_packings(&batch) {
        let problem = problem(&bytes, &name);
        assert!(problem.starts_with("column \"tags\" must hold numbers or text and holds List("), "{problem}");
    }
}

#[test]
fn text_that_is_not_utf8_is_refused_by_column() {
    let batch = batch(vec![("raw", Arc::new(BinaryArray::from(vec![&b"ok"[..], b"\xff"])))]);
    for (name, bytes) in all_packings(&batch) {
        let problem = problem(&bytes, &name);
        assert!(problem.starts_with("column \"raw\" holds Binary and cannot be read as "), "{problem}");
    }
}

#[test]
fn tables_without_rows_are_tables() {
    let batch = batch(vec![("a", Arc::new(Int64Array::from(vec![1; 1])))]);
    let mut stream = StreamWriter::try_new(Vec::new(), batch.schema_ref()).unwrap();
    stream.finish().unwrap();
    for bytes in [parquet(&batch.slice(0, 0), Compression::SNAPPY), stream.into_inner().unwrap()] {
        let frame = read(&bytes, "stdin").unwrap().frame;
        assert_eq!((frame.rows(), frame.names()), (0, &["a".to_owned()][..]));
    }
}

#[test]
fn frames_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut frame = Frame::new(3);
    frame.push("x", Column::Number(vec![0.1, 1e300, -0.0])).unwrap();
    frame.push("t", Column::Text(vec![None, some(""), some("a\nb")])).unwrap();
    for name in ["o.parquet", "o.pq", "o.arrow", "o.feather"] {
        let path = folder.path().join(name);
        let path = path.to_str().unwrap();
        write_frame(path, &frame).unwrap();
        assert_eq!(mercer_io::read(path, &ReadOptions::default()).unwrap().frame, frame, "{name}");
    }
    // The format that is asked for goes before the extension.
    let path = folder.path().join("o.csv");
    let path = path.to_str().unwrap();
    let extra = [("fit".to_owned(), vec![Some(1.0), None, Some(f64::NAN)])];
    write(path, &frame.into(), &extra, Some(Format::Parquet)).unwrap();
    let back = mercer_io::read(path, &ReadOptions::default()).unwrap().frame;
    assert_eq!(numbers(&back, "fit"), [Some(1.0), None, None]);
}

#[test]
fn tables_larger_than_the_limit_are_refused_before_they_are_unpacked() {
    let rows = 100_000;
    let word = "x".repeat(1000);
    let constant = batch(vec![
        ("a", Arc::new(Int64Array::from(vec![1; rows]))),
        ("t", Arc::new(vec![Some(word.as_str()); rows].into_iter().collect::<DictionaryArray<Int32Type>>())),
    ]);
    let options = ReadOptions { memory_limit: Some(5 << 20), ..ReadOptions::default() };
    for (name, bytes) in all_packings(&constant) {
        assert!(bytes.len() < 2 << 20);
        let error = read_bytes(bytes, &name, &options).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{name}: {error}");
    }
    // Nothing is stored for these rows at all.
    let nothing = batch(vec![("n", Arc::new(NullArray::new(1 << 40)))]);
    let error = read_bytes(ipc_stream(&nothing), "t.arrow", &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Memory { needed: 8_796_093_022_208, .. }), "{error}");
}

#[test]
fn a_buffer_that_claims_to_unpack_to_petabytes_is_refused() {
    let numbers = batch(vec![("a", Arc::new(Int64Array::from(vec![1; 1000])) as ArrayRef)]);
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), numbers.schema_ref(), options).unwrap();
    writer.write(&numbers).unwrap();
    let mut bytes = writer.into_inner().unwrap();
    let claim = 8000_i64.to_le_bytes();
    // The body comes last.
    let at = bytes.windows(8).rposition(|window| window == claim).unwrap();
    bytes[at..at + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
    let error = read(&bytes, "t.arrow").unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn old_feather_is_named() {
    assert!(problem(b"FEA1\0\0\0\0", "t.feather").contains("Feather version 1"));
}

#[test]
fn files_cut_off_anywhere_are_refused() {
    let small = batch(vec![
        ("a", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))),
        ("t", Arc::new(["u", "v", "u"].into_iter().collect::<DictionaryArray<Int32Type>>())),
    ]);
    for (name, bytes) in all_packings(&small) {
        assert!(read(&bytes, &name).is_ok());
        for cut in 0..bytes.len() {
            let result = read(&bytes[..cut], &name);
            // A stream may end after any whole message, and standard input may be any format.
            if !name.contains("stream") && name != "stdin" {
                assert!(result.is_err(), "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn damaged_files_never_panic() {
    let long = "a text that is long enough to be stored apart from its view";
    let seeds = all_packings(&batch(vec![
        ("a", Arc::new(Int64Array::from((0..300).map(|i| (i % 7 > 0).then_some(i / 5)).collect::<Vec<_>>()))),
        ("t", Arc::new((0..300).map(|i| ["u", "v"][i % 2]).collect::<DictionaryArray<Int32Type>>())),
        ("w", Arc::new((0..300).map(|i| (i % 3 > 0).then_some(long)).collect::<StringViewArray>())),
        ("b", Arc::new(BooleanArray::from(vec![true; 300]))),
    ]));
    let options = ReadOptions { memory_limit: Some(1 << 24), ..ReadOptions::default() };
    let mut random = Random(2);
    for _ in 0..rounds() {
        let (name, seed) = &seeds[random.below(seeds.len())];
        let bytes = damage(&mut random, seed);
        if let Ok(table) = read_bytes(bytes, name, &options) {
            assert!(table.frame.iter().all(|(_, column)| column.len() == table.frame.rows()));
        }
    }
}

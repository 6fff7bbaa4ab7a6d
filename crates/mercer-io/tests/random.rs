//! No bytes whatever make the readers panic.

mod common;

use common::{Random, damage, gzip, rounds};
use mercer_io::{Format, ReadOptions, read_bytes};

/// Valid files to damage.
fn seeds() -> Vec<Vec<u8>> {
    let csv = b"a,b,c\n1,2.5,red\n3,,\"blue, or \"\"so\"\"\"\nNA,1e5,?\n".to_vec();
    let mut seeds = vec![
        b"x;y\r\n1,5;2\r\n3,25;4\r\n".to_vec(),
        b"  a   b\n  1  2 \n 10 20\n".to_vec(),
        b"+1 1:0.5 3:2 # comment\n-1 2:1 4:1e3\n".to_vec(),
        gzip(&csv),
    ];
    #[cfg(feature = "arrow")]
    {
        let folder = tempfile::tempdir().unwrap();
        let table = read_bytes(csv.clone(), "t.csv", &ReadOptions::default()).unwrap();
        for name in ["t.parquet", "t.arrow"] {
            let path = folder.path().join(name);
            mercer_io::write(path.to_str().unwrap(), &table, &[], None).unwrap();
            seeds.push(std::fs::read(path).unwrap());
        }
    }
    seeds.push(csv);
    seeds
}

fn random_bytes(random: &mut Random) -> Vec<u8> {
    const LIKELY: &[u8] = b",;\t| \n\r\"0123456789.-+eE:#qid naNA?xyz\xef\xbb\xbf\xff\0";
    let length = random.below(200);
    let plain = random.below(2) == 0;
    (0..length).map(|_| if plain { LIKELY[random.below(LIKELY.len())] } else { random.next() as u8 }).collect()
}

#[test]
fn random_and_damaged_files_never_panic() {
    let mut random = Random(1);
    let seeds = seeds();
    let formats = [None, Some(Format::Csv), Some(Format::Libsvm), Some(Format::Arrow), Some(Format::Parquet)];
    for round in 0..rounds() {
        let bytes = match round % 3 {
            0 => random_bytes(&mut random),
            _ => {
                let seed = random.below(seeds.len());
                damage(&mut random, &seeds[seed])
            }
        };
        let options = ReadOptions {
            // Mostly as detected: a file of one format is rarely asked to be another.
            format: formats.get(random.below(20)).copied().flatten(),
            decimal_comma: random.below(4) == 0,
            header: [None, None, Some(true), Some(false)][random.below(4)],
            separator: [None, None, None, Some(random.next() as u8)][random.below(4)],
            missing: if random.below(8) == 0 { vec!["x".to_owned()] } else { Vec::new() },
            skip_rows: random.below(20).saturating_sub(17),
            comment: (random.below(8) == 0).then_some(b'#'),
            memory_limit: Some(1 << 20),
            ..ReadOptions::default()
        };
        if let Ok(table) = read_bytes(bytes, "stdin", &options) {
            let names = table.frame.names();
            assert!(names.len() <= 1 << 17);
            assert!(table.frame.iter().all(|(_, column)| column.len() == table.frame.rows()));
        }
    }
}

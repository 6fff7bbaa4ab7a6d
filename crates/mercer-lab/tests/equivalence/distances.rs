use mercer::data::{Column, Frame};
use mercer_lab::equivalence::{hamming, hamming_of_lists};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn list(random: &mut ChaCha8Rng, longest: u32, kinds: u32) -> Vec<u32> {
    let length = random.next_u32() % (longest + 1);
    (0..length).map(|_| random.next_u32() % kinds).collect()
}

fn distance(a: &[u32], b: &[u32]) -> usize {
    hamming_of_lists(a, b).distance()
}

#[test]
fn it_is_a_metric() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..10_000 {
        let [a, b, c] = [(); 3].map(|()| list(&mut random, 12, 5));
        let (ab, bc, ac) = (distance(&a, &b), distance(&b, &c), distance(&a, &c));
        assert_eq!(ab, distance(&b, &a), "symmetry: {a:?} {b:?}");
        assert!(ac <= ab + bc, "triangle: {a:?} {b:?} {c:?}");
        let sorted = |list: &[u32]| {
            let mut copy = list.to_vec();
            copy.sort_unstable();
            copy
        };
        assert_eq!(ab == 0, sorted(&a) == sorted(&b), "identity, whatever the order: {a:?} {b:?}");
        let found = hamming_of_lists(&a, &b);
        assert_eq!(found.distance(), found.added() + found.removed() + found.changed());
        assert_eq!(found.first_rows + found.added() - found.removed(), found.second_rows);
    }
}

/// |n₁ − n₂| plus the least number of places in which some order of some n₂ of the longer list differs from the shorter one.
fn by_definition(a: &[u32], b: &[u32]) -> usize {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    fn least(long: &mut Vec<u32>, short: &[u32]) -> usize {
        let Some((first, rest)) = short.split_first() else { return 0 };
        (0..long.len())
            .map(|i| {
                let taken = long.remove(i);
                let found = usize::from(taken != *first) + least(long, rest);
                long.insert(i, taken);
                found
            })
            .min()
            .unwrap()
    }
    long.len() - short.len() + least(&mut long.to_vec(), short)
}

#[test]
fn it_is_what_its_definition_says() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..2_000 {
        let (a, b) = (list(&mut random, 5, 4), list(&mut random, 5, 4));
        assert_eq!(distance(&a, &b), by_definition(&a, &b), "{a:?} {b:?}");
    }
}

fn frame(columns: &[(&str, Column)]) -> Frame {
    let mut frame = Frame::new(columns[0].1.len());
    columns.iter().for_each(|(name, column)| frame.push(*name, column.clone()).unwrap());
    frame
}

fn text(cells: &[&str]) -> Column {
    Column::Text(cells.iter().map(|cell| Some((*cell).to_owned())).collect())
}

#[test]
fn tables_are_compared_cell_by_cell() {
    let first = frame(&[("x", Column::Number(vec![0.0, 1.0, 1.0])), ("k", text(&["a", "b", "b"]))]);
    // Columns and rows in another order, −0 for 0.
    let same = frame(&[("k", text(&["b", "a", "b"])), ("x", Column::Number(vec![1.0, -0.0, 1.0]))]);
    assert_eq!(hamming(&first, &same).unwrap().distance(), 0);
    let other = frame(&[("x", Column::Number(vec![0.0, 1.0, 1.0 + 1e-15, 5.0])), ("k", text(&["b", "b", "b", "c"]))]);
    let found = hamming(&first, &other).unwrap();
    assert_eq!((found.distance(), found.added(), found.removed(), found.changed()), (3, 1, 0, 2));
    let back = hamming(&other, &first).unwrap();
    assert_eq!((back.distance(), back.added(), back.removed(), back.changed()), (3, 0, 1, 2));

    let refused = |a: &Frame, b: &Frame| hamming(a, b).unwrap_err().to_string();
    let lacking = frame(&[("x", Column::Number(vec![0.0])), ("z", Column::Number(vec![0.0]))]);
    let error = refused(&first, &lacking);
    assert!(error.contains("\"k\" in the first table only, \"z\" in the second table only"), "{error}");
    let typed = frame(&[("x", text(&["0"])), ("k", text(&["a"]))]);
    assert!(refused(&first, &typed).contains("numbers in the first table and text in the second"));
    let missing = frame(&[("x", Column::Number(vec![0.0, f64::NAN])), ("k", text(&["a", "a"]))]);
    assert!(refused(&first, &missing).contains("row 2, column \"x\": the cell is missing"));
}

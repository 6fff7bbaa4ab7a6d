//! Horizontal bars.

/// One bar per line: a name, a bar as long as its share of the largest value, and a word at its end.
pub fn bars(items: &[(String, f64, String)], width: usize) -> String {
    let largest = items.iter().map(|(_, value, _)| *value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let name_width = items.iter().map(|(name, _, _)| name.chars().count()).max().unwrap_or(0).min(28);
    let mut text = String::new();
    for (name, value, word) in items {
        let share = if largest > 0.0 && value.is_finite() { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
        let name: String = name.chars().take(name_width).collect();
        let pad = " ".repeat(name_width - name.chars().count());
        text.push_str(&format!("  {name}{pad}  {}  {word}\n", bar(share * width as f64)));
    }
    text
}

/// A bar to an eighth of a character.
fn bar(length: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_largest_value_has_the_longest_bar() {
        let items = [("a".to_owned(), 2.0, "two".to_owned()), ("bb".to_owned(), 1.0, "one".to_owned())];
        assert_eq!(super::bars(&items, 4), "  a   ████  two\n  bb  ██  one\n");
        assert_eq!(super::bars(&[("x".into(), f64::NAN, "–".into())], 4), "  x    –\n");
    }
}

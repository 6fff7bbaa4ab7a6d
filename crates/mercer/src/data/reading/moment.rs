//! ISO 8601: dates, date-times and times of day.

/// What a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Date,
    Instant,
    Time,
}

/// A date or date-time as days since 1970-01-01 (in universal time where it has a zone), a time of day as hours.
pub(super) fn moment(text: &str) -> Option<(Moment, f64)> {
    if let Some(time) = time_of_day(text) {
        return Some((Moment::Time, time / 3600.0));
    }
    let (day, rest) = date(text)?;
    if rest.is_empty() {
        return Some((Moment::Date, day));
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, zone) = match rest.find(['Z', 'z', '+', '-']) {
        Some(place) => (rest[..place].trim_end(), Some(offset(&rest[place..])?)),
        None => (rest, None),
    };
    let seconds = time_of_day(clock)? - zone.unwrap_or(0.0);
    let kind = if zone.is_some() { Moment::Instant } else { Moment::Date };
    Some((kind, day + seconds / 86400.0))
}

/// `2020-01-05`, `2020/01/05`, and `2020-01` for its first day.
fn date(text: &str) -> Option<(f64, &str)> {
    let (year, rest) = digits(text, 4)?;
    let mark = rest.chars().next().filter(|c| "-/".contains(*c))?;
    let (month, rest) = digits(&rest[1..], 2)?;
    let (day, rest) = match rest.strip_prefix(mark) {
        Some(rest) => digits(rest, 2)?,
        None if mark == '-' && rest.is_empty() => (1, rest),
        None => return None,
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    ((1..=most).contains(&day) && year > 0).then_some((days(year, month, day) as f64, rest))
}

/// Days since 1970-01-01 in the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Days since 1970-01-01 as `2020-01-05` or `2020-01-05 09:30`; `None` outside the years 1 to 9999.
pub(super) fn date_and_time(value: f64) -> Option<String> {
    // 0001-01-01 and 9999-12-31.
    if !(-719_162.0..2_932_897.0).contains(&value) {
        return None;
    }
    let seconds = (value * 86400.0).round() as i64;
    let (day, clock) = (seconds.div_euclid(86400) + 719_468, seconds.rem_euclid(86400));
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let of_years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_years + of_years / 4 - of_years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = of_years + era * 400 + i64::from(month <= 2);
    let date = format!("{year:04}-{month:02}-{:02}", of_year - (153 * shifted + 2) / 5 + 1);
    Some(if clock == 0 { date } else { format!("{date} {}", of_seconds(clock)) })
}

/// Hours as `09:30` or `09:30:15`; `None` outside a day.
pub(super) fn clock(hours: f64) -> Option<String> {
    (0.0..=24.0).contains(&hours).then(|| of_seconds((hours * 3600.0).round() as i64))
}

fn of_seconds(seconds: i64) -> String {
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if second == 0 { format!("{hour:02}:{minute:02}") } else { format!("{hour:02}:{minute:02}:{second:02}") }
}

/// `09:30`, `9:30:15`, `09:30:15.25`, `9:30 pm` in seconds since midnight.
fn time_of_day(text: &str) -> Option<f64> {
    let lower = text.get(text.len().saturating_sub(2)..).map(str::to_ascii_lowercase);
    let (text, afternoon) = match lower.as_deref() {
        Some("am") => (text[..text.len() - 2].trim_end(), Some(0.0)),
        Some("pm") => (text[..text.len() - 2].trim_end(), Some(12.0)),
        _ => (text, None),
    };
    let (hour, rest) = text.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "0"));
    let is_short =
        |text: &str, least: usize| (least..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let whole = second.split(['.', ',']).next().unwrap_or_default();
    let fraction = second[whole.len()..].get(1..);
    let is_fraction = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_short(hour, 1) || !is_short(minute, 2) || !is_short(whole, 1) || fraction.is_some_and(|f| !is_fraction(f)) {
        return None;
    }
    let mut hour: f64 = hour.parse().ok()?;
    let minute: f64 = minute.parse().ok()?;
    let second: f64 = second.replace(',', ".").parse().ok()?;
    if let Some(afternoon) = afternoon {
        if !(1.0..=12.0).contains(&hour) {
            return None;
        }
        hour = hour % 12.0 + afternoon;
    }
    let all = 3600.0 * hour + 60.0 * minute + second;
    // 60 is a leap second.
    (minute < 60.0 && second < 61.0 && all <= 86400.0).then_some(all)
}

/// `Z`, `+01:00`, `-0530`, `+01` in seconds.
fn offset(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0.0);
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let text = text.get(1..)?;
    let (hours, minutes) = match (text.split_once(':'), text.split_at_checked(2)?) {
        (Some(parts), _) => parts,
        (None, (hours, "")) => (hours, "00"),
        (None, parts) => parts,
    };
    let whole = |text: &str| digits(text, 2).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
    let (hours, minutes) = (whole(hours)?, whole(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (3600 * hours + 60 * minutes) as f64)
}

/// Exactly so many digits, and what follows them.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (found, rest) = text.split_at_checked(count)?;
    let is_number = found.bytes().all(|byte| byte.is_ascii_digit()) && !rest.starts_with(|c: char| c.is_ascii_digit());
    Some((found.parse().ok().filter(|_| is_number)?, rest))
}

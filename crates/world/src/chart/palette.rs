//! Colours that people with any colour vision tell apart, and on white.

const COLORS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6a51a3", "#8c8c00", "#5a5a5a",
    "#a6561d", "#1b9e9e", "#b2182b",
];
/// Of what was summed up as the rest.
pub const OTHER: &str = "#9aa0a6";

pub fn color(at: usize) -> &'static str {
    COLORS.get(at % COLORS.len()).copied().unwrap_or("#0072b2")
}

/// From light to dark, between 0 and 1; the order is seen in grey too.
pub fn shade(part: f64) -> String {
    const STOPS: [(f64, f64, f64); 5] = [
        (247.0, 251.0, 220.0),
        (161.0, 218.0, 180.0),
        (65.0, 182.0, 196.0),
        (34.0, 94.0, 168.0),
        (8.0, 29.0, 88.0),
    ];
    let scaled = part.clamp(0.0, 1.0) * 4.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 4")]
    let at = (scaled.floor() as usize).min(3);
    let (one, other) =
        (STOPS.get(at).copied().unwrap_or_default(), STOPS.get(at + 1).copied().unwrap_or_default());
    #[expect(clippy::cast_precision_loss, reason = "between 0 and 3")]
    let rest = scaled - at as f64;
    let mix = |a: f64, b: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 255")]
        let byte = (a + (b - a) * rest).round() as u8;
        byte
    };
    format!("#{:02x}{:02x}{:02x}", mix(one.0, other.0), mix(one.1, other.1), mix(one.2, other.2))
}

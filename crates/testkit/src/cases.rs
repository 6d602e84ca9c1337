//! How many cases a property runs: few in the normal test command, as many times more as `FUGATO_CASES` is of 2,000.

/// For a property that runs `usual` cases when nobody asks for more.
pub fn cases(usual: u32) -> u32 {
    let wanted = std::env::var("FUGATO_CASES").ok().and_then(|text| text.parse::<u64>().ok());
    let wanted = wanted.map_or(u64::from(usual), |wanted| u64::from(usual).saturating_mul(wanted) / 2_000);
    u32::try_from(wanted).unwrap_or(u32::MAX).max(1)
}

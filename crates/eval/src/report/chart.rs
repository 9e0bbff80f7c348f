//! Learning curves as SVG, drawn by plotters and colored by the style sheet of the page.
//!
//! The colors here are keys: the page's style sheet selects elements by them and sets the color of the light or dark
//! theme. Texts are SVG text in the page's own font; no font is needed to draw them.

use std::ops::Range;

use plotters::prelude::*;

use super::Curve;
use crate::{Error, Result};

const SIZE: (u32, u32) = (560, 270);
const INK: RGBColor = RGBColor(0x11, 0x11, 0x11);
const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);

/// The colors of the series (Okabe and Ito's palette, distinct without color vision); more series start over.
const SERIES: [RGBColor; N_COLORS] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];

/// The number of series colors.
pub(super) const N_COLORS: usize = 6;

/// Points are marked one by one up to this many.
const MARKED_POINTS_MAX: usize = 40;

/// Draws a chart, or nothing if no point is finite.
///
/// # Errors
///
/// Fails if the drawing backend does.
pub(super) fn svg(curve: &Curve) -> Result<Option<String>> {
    let series: Vec<Vec<(f64, f64)>> = curve.series.iter().map(|series| finite(&series.points)).collect();
    let points = || series.iter().flatten();
    let Some(x_range) = padded(points().map(|point| point.0), 0.0) else {
        return Ok(None);
    };
    let Some(y_range) = padded(points().map(|point| point.1), 0.06) else {
        return Ok(None);
    };
    let mut svg = String::new();
    draw(&mut svg, curve, &series, x_range, y_range)
        .map_err(|reason| Error::Chart { curve: curve.name.clone(), reason })?;
    Ok(Some(svg))
}

fn draw(
    svg: &mut String,
    curve: &Curve,
    series: &[Vec<(f64, f64)>],
    x_range: Range<f64>,
    y_range: Range<f64>,
) -> std::result::Result<(), String> {
    let (x_decimals, y_decimals) = (decimals(&x_range), decimals(&y_range));
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(10)
        .margin_right(18)
        .x_label_area_size(42)
        .y_label_area_size(66)
        .build_cartesian_2d(x_range, y_range)
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(GRID)
        .label_style(("sans-serif", 15, &INK))
        .axis_desc_style(("sans-serif", 15, &INK))
        .x_labels(7)
        .y_labels(6)
        .x_label_formatter(&|value| short(*value, x_decimals))
        .y_label_formatter(&|value| format!("{value:.y_decimals$}"))
        .x_desc(&curve.x)
        .y_desc(&curve.unit)
        .draw()
        .map_err(|error| error.to_string())?;
    for (points, color) in series.iter().zip(SERIES.iter().cycle()) {
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))
            .map_err(|error| error.to_string())?;
        if points.len() <= MARKED_POINTS_MAX {
            chart
                .draw_series(points.iter().map(|point| Circle::new(*point, 3, color.filled())))
                .map_err(|error| error.to_string())?;
        }
    }
    drop(chart);
    root.present().map_err(|error| error.to_string())
}

fn finite(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
}

/// Returns the range of the values with a margin on both sides, never of no width.
fn padded(values: impl Iterator<Item = f64> + Clone, margin: f64) -> Option<Range<f64>> {
    let low = values.clone().reduce(f64::min)?;
    let high = values.reduce(f64::max)?;
    let width = high - low;
    let pad = if width > 0.0 { width * margin } else { low.abs().max(1.0) * 0.5 };
    Some(low - pad..high + pad)
}

/// Returns a number without the zeros at the end of its decimals: steps and epochs are whole numbers.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns how many decimals tell neighboring axis labels apart.
fn decimals(range: &Range<f64>) -> usize {
    let step = (range.end - range.start) / 6.0;
    (-step.log10()).ceil().clamp(0.0, 9.0) as usize
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    fn curve(points: &[(f64, f64)]) -> Curve {
        Curve {
            name: "Reward".to_owned(),
            x: "step".to_owned(),
            unit: "nats <per> token".to_owned(),
            series: vec![Series { name: "train".to_owned(), points: points.to_vec() }],
        }
    }

    #[test]
    fn a_chart_has_labels_and_one_line_per_series() {
        let svg = svg(&curve(&[(1.0, 0.5), (2.0, 0.25), (3.0, f64::NAN)])).unwrap().unwrap();
        assert!(svg.contains("step") && svg.contains("nats &lt;per&gt; token"));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains("stroke=\"#0072B2\""));
    }

    #[test]
    fn a_chart_without_finite_points_is_not_drawn() {
        assert!(svg(&curve(&[])).unwrap().is_none());
        assert!(svg(&curve(&[(f64::INFINITY, 1.0)])).unwrap().is_none());
    }

    #[test]
    fn single_points_equal_values_and_extreme_ranges_are_drawn() {
        for points in
            [&[(0.0, 0.0)][..], &[(1.0, 2.0), (2.0, 2.0)], &[(0.0, 1e-9), (1.0, 2e-9)], &[(0.0, -1e18), (9.0, 1e18)]]
        {
            assert!(svg(&curve(points)).unwrap().is_some());
        }
    }

    #[test]
    fn labels_have_as_many_decimals_as_their_distance_needs() {
        assert_eq!(decimals(&(0.0..600.0)), 0);
        assert_eq!(decimals(&(0.0..1.0)), 1);
        assert_eq!(decimals(&(9.1..9.16)), 2);
        assert_eq!(
            (short(2.0, 1), short(2.5, 1), short(100.0, 0)),
            ("2".to_owned(), "2.5".to_owned(), "100".to_owned())
        );
    }
}

package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
)

// called calls a tool through a box, with arguments that need not be JSON.
func called(t *testing.T, tool tools.Tool, args string) llm.Result {
	t.Helper()
	got, err := tooltest.Box(t, tool).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "chart", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// drawn calls the tool and gives its picture before it is a file: to write and read a
// PNG takes longer than all else. With NOD_CHARTS set to a folder, the pictures are
// left there to be looked at.
func drawn(t *testing.T, args string) (*image.RGBA, string) {
	t.Helper()
	var picture *image.RGBA
	got := called(t, drawing(func(img image.Image) ([]byte, error) {
		picture = img.(*image.RGBA)
		return []byte("a picture"), nil
	}), args)
	if got.Failed || len(got.Files) != 1 || got.Files[0].MediaType != "image/png" {
		t.Fatalf("%d files: %s", len(got.Files), got.Text)
	}
	if dir := os.Getenv("NOD_CHARTS"); dir != "" {
		data, err := toPNG(picture)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + ".png"
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return picture, got.Text
}

// has counts the pixels of a colour.
func has(img *image.RGBA, c color.Color) int {
	r, g, b, _ := c.RGBA()
	return bytes.Count(img.Pix, []byte{byte(r), byte(g), byte(b), 255})
}

// TestFile reads the picture as people get it.
func TestFile(t *testing.T) {
	const args = `{"kind":"line","title":"Load","y":[10,20.5,15,40]}`
	want, _ := drawn(t, args)
	got := called(t, drawing(toPNG), args)
	if got.Failed || len(got.Files) != 1 || got.Files[0].MediaType != "image/png" {
		t.Fatalf("%d files: %s", len(got.Files), got.Text)
	}
	img, err := png.Decode(bytes.NewReader(got.Files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	pixels := image.NewRGBA(img.Bounds())
	draw.Draw(pixels, pixels.Bounds(), img, image.Point{}, draw.Src)
	if !bytes.Equal(pixels.Pix, want.Pix) {
		t.Error("the file holds another picture")
	}
}

func TestChart(t *testing.T) {
	tests := []struct {
		name, args string
		colours    int // series that must be seen
		want       string
	}{
		{"line", `{"kind":"line","title":"Load","x_label":"minutes","y_label":"%","x":[0,1,2,3],"y":[10,20.5,15,40]}`, 1, "The line chart is in the file load.png, which people see.\ny: 4 values from 10 to 40"},
		{"line without x", `{"kind":"line","y":[1,2,3]}`, 1, "in the file chart.png"},
		{"line with a gap", `{"kind":"line","y":[1,2,null,3,null,4,5]}`, 1, "y: 5 values from 1 to 5, 2 gaps"},
		{"line over names", `{"kind":"line","x":["Mon","Tue","Wed"],"y":[1,5,3]}`, 1, "line chart"},
		{"three lines", `{"kind":"line","title":"温度 기온 気温","series":[{"name":"東京","y":[1,2,3]},{"name":"서울","y":[3,2,1]},{"name":"Zürich","y":[2,2,2]}]}`, 3, "東京: 3 values from 1 to 3"},
		{"bar", `{"kind":"bar","title":"Sales by region, in thousands of euros","y_label":"k€","x":["North","South","East","West"],"y":[120,95.5,60,-20]}`, 1, "bar chart"},
		{"bar, two series", `{"kind":"bar","x":["a rather long name","another long name","a third long one","and a fourth one"],"series":[{"name":"2025","y":[1,2,3,4]},{"name":"2026","y":[2,3,4,null]}]}`, 2, "2026: 3 values from 2 to 4, 1 gaps"},
		{"bar with numbers", `{"kind":"bar","x":[2024,2025],"y":[1,2]}`, 1, "bar chart"},
		{"scatter", `{"kind":"scatter","x":[1,2,3,4,5],"y":[2,1,4,3,5]}`, 1, "scatter chart"},
		{"histogram", `{"kind":"histogram","title":"Ages","x_label":"years","y":[20,21,22,22,23,25,30,31,40,41,42,60]}`, 1, "y: 12 values from 20 to 60"},
		{"histogram with bins", `{"kind":"histogram","bins":3,"y":[1,2,3,3]}`, 1, "histogram chart"},
		{"time", `{"kind":"time","title":"Closing price","y_label":"USD","x":["2026-01-02","2026-02-03","2026-01-20"],"y":[10,12,11]}`, 1, "The time chart is in the file closing-price.png"},
		{"time by the minute", `{"kind":"time","x":["2026-01-02T10:00:00Z","2026-01-02T10:07:30+01:00","2026-01-02 10:12"],"y":[1000000,1200000,1100000]}`, 1, "time chart"},
		{"line over dates", `{"kind":"line","x":["2020-01","2021-01","2026-01"],"y":[1,2,3]}`, 1, "The time chart"},
		{"one point", `{"kind":"line","y":[5]}`, 1, "y: 1 values"},
		{"all the same", `{"kind":"line","y":[5,5,5]}`, 1, "from 5 to 5"},
		{"all zero", `{"kind":"bar","x":["a"],"y":[0]}`, 0, "from 0 to 0"},
		{"nearly the same", `{"kind":"line","y":[1e15,1000000000000001]}`, 1, "line chart"},
		{"very large", `{"kind":"line","y":[-1e100,1e100]}`, 1, "line chart"},
		{"very small", `{"kind":"line","y":[1e-300,2e-300]}`, 1, "line chart"},
		{"histogram of one value", `{"kind":"histogram","y":[3,3,3]}`, 1, "histogram"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img, text := drawn(t, tt.args)
			if img.Bounds().Dx() != 960 || img.Bounds().Dy() != 600 {
				t.Errorf("size %v", img.Bounds())
			}
			for i := range tt.colours {
				if has(img, palette[i]) < 10 {
					t.Errorf("series %d is not to be seen", i)
				}
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// manyNames is a JSON list of names.
func manyNames(n int, name string) string {
	return `["` + strings.Join(slices.Repeat([]string{name}, n), `","`) + `"]`
}

// TestKeepsInside draws what has no room, and looks whether a word or a
// line reaches the edge of the picture, where it would be cut.
func TestKeepsInside(t *testing.T) {
	long := strings.Repeat("a rather long word ", 10)
	tests := []struct{ name, args, want string }{
		{"many bars", `{"kind":"bar","x":` + manyNames(40, "customer Ltd") + `,"y":[` + strings.Repeat("5,", 39) + `9]}`, "40 values"},
		{"most bars", `{"kind":"bar","x":` + manyNames(100, long[:99]) + `,"y":[` + strings.Repeat("5,", 99) + `9]}`, "100 values"},
		{"long names of a line", `{"kind":"line","x":` + manyNames(3, long[:99]) + `,"y":[1,2,3]}`, "3 values"},
		{"Chinese names", `{"kind":"bar","x":` + manyNames(12, "東京都新宿区西新宿二丁目八番一号") + `,"y":[1,2,3,4,5,6,7,8,9,10,11,12]}`, "12 values"},
		{"long title and labels", fmt.Sprintf(`{"kind":"line","title":%q,"x_label":%q,"y_label":%q,"y":[1,2]}`, long, long[:99], long[:99]), "a-rather-long-word"},
		{"title without spaces", `{"kind":"line","title":"` + strings.Repeat("株価", 90) + `","y":[1,2]}`, "chart.png"},
		{"long names in the legend", `{"kind":"bar","x":["a","b"],"series":[{"name":"` + long[:99] + `","y":[1,2]},{"name":"b","y":[2,1]}]}`, "b: 2 values"},
		{"twelve series", `{"kind":"line","series":[` + strings.TrimSuffix(strings.Repeat(`{"name":"series","y":[3,9,-1000000]},`, 12), ",") + `]}`, "series: 3 values"},
		{"large numbers on both axes", `{"kind":"scatter","x":[-12345678901,12345678901],"series":[{"name":"` + long[:99] + `","y":[-12345678901,12345678901]}]}`, "2 values"},
		{"a week of hours", `{"kind":"time","x":["2026-01-01T00:00:00Z","2026-01-04T12:00:00Z"],"y":[1,2]}`, "time chart"},
		{"series without names", `{"kind":"line","series":[{"name":"","y":[1,2]},{"name":"\u0007","y":[2,1]}]}`, "series 1: 2 values from 1 to 2\nseries 2: 2 values"},
		{"control characters", `{"kind":"bar","title":"\u001b[31mred\u001b[0m \u202eab\u0000c","x":["x\ny"],"y":[1]}`, "in the file red-abc.png"},
		{"letters that the font lacks", `{"kind":"bar","title":"שלום 😀","x":["مر"],"y":[1]}`, "The font has no letters for שלום😀مر, which stand as □"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			img, text := drawn(t, tt.args)
			if !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
			const edge = 3
			all := img.Bounds()
			for _, side := range []image.Rectangle{
				image.Rect(0, 0, edge, all.Max.Y), image.Rect(all.Max.X-edge, 0, all.Max.X, all.Max.Y),
				image.Rect(0, 0, all.Max.X, edge), image.Rect(0, all.Max.Y-edge, all.Max.X, all.Max.Y),
			} {
				if at, ok := firstInk(img, side); ok {
					t.Errorf("something is drawn at %v", at)
				}
			}
		})
	}
}

// TestLegend looks for the data below the legend's words, where there is
// to be none.
func TestLegend(t *testing.T) {
	img, _ := drawn(t, `{"kind":"line","series":[{"name":"a series of some length","y":[1,2]},{"name":"b","y":[2,1]}]}`)
	if _, ok := firstInk(img, image.Rect(820, 0, 960, 100)); !ok {
		t.Error("there is no legend")
	}
	if at, ok := firstInk(img, image.Rect(820, 100, 960, 600)); ok {
		t.Errorf("something is drawn at %v", at)
	}
}

// firstInk finds a point that is not white.
func firstInk(img *image.RGBA, in image.Rectangle) (image.Point, bool) {
	for y := in.Min.Y; y < in.Max.Y; y++ {
		row := img.Pix[img.PixOffset(in.Min.X, y):img.PixOffset(in.Max.X, y)]
		if at := len(bytes.TrimLeft(row, "\xff")); at > 0 {
			return image.Pt(in.Max.X-(at+3)/4, y), true
		}
	}
	return image.Point{}, false
}

// TestMarksKeepApart has marks whose words would touch.
func TestMarksKeepApart(t *testing.T) {
	p, err := newPlot()
	if err != nil {
		t.Fatal(err)
	}
	label := p.X.Tick.Label
	marks := plot.ConstantTicks{{Value: 1, Label: "10,000"}, {Value: 2, Label: "20,000"}, {Value: 3, Label: "30,000"}, {Value: 4, Label: "40,000"}}
	for length, want := range map[vg.Length]string{1000: "10,000 20,000 30,000 40,000", 100: "10,000  30,000 ", 10: "10,000   "} {
		var got []string
		for _, tick := range roomy(slices.Clone(marks), label, length).Ticks(0, 5) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("in %v points: %q, want %q", length, got, want)
		}
	}
	c := chart{kind: scatterKind, series: []oneSeries{{name: strings.Repeat("long ", 20), y: []float64{1}}}}
	p.X.Min, p.X.Max = -123456789012, 123456789012
	c.axes(p)
	c.layOut(p, vgdraw.New(vgimg.New(imageWidth, imageHeight)))
	if ticks := p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max); len(ticks) < 2 || ticks[0].Label == "" || ticks[1].Label != "" {
		t.Errorf("beside a legend there are %v", ticks)
	}
	for _, text := range []string{"short", strings.Repeat("long ", 50), strings.Repeat("長", 50), ""} {
		if got := fit(label, text, 100); label.Width(got) > 100 || got != text && !strings.HasSuffix(got, "…") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestNameIsFree(t *testing.T) {
	in := tools.Input{Desk: chat.Desk{Files: []chat.File{{Name: "Votes.png"}, {Name: "votes-2.png"}}}, Args: json.RawMessage(`{"kind":"bar","title":"Votes","y":[1]}`)}
	got, err := drawing(func(image.Image) ([]byte, error) { return nil, nil }).Run(t.Context(), in)
	if err != nil || len(got.Files) != 1 || got.Files[0].Name != "votes-3.png" || !strings.Contains(got.Text, "votes-3.png") {
		t.Errorf("%v: %s", err, got.Text)
	}
}

func TestRuns(t *testing.T) {
	gap := math.NaN()
	tests := []struct {
		name string
		kind string
		x, y []float64
		want []plotter.XYs
	}{
		{"gap", lineKind, []float64{3, 1, 2}, []float64{1, gap, 2}, []plotter.XYs{{{X: 3, Y: 1}}, {{X: 2, Y: 2}}}},
		{"gaps at the ends", lineKind, []float64{1, 2, 3}, []float64{gap, 2, gap}, []plotter.XYs{{{X: 2, Y: 2}}}},
		{"points", scatterKind, []float64{3, 1, 2}, []float64{1, gap, 2}, []plotter.XYs{{{X: 3, Y: 1}, {X: 2, Y: 2}}}},
		{"time goes on", timeKind, []float64{3, 1, 2}, []float64{1, 2, gap}, []plotter.XYs{{{X: 1, Y: 2}}, {{X: 3, Y: 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, chart{kind: tt.kind, x: tt.x}.runs(oneSeries{y: tt.y})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("1,", 20_000), ",")
	tests := []struct{ name, args, want string }{
		{"no values", `{"kind":"line"}`, `put them into "y"`},
		{"both", `{"kind":"line","y":[1],"series":[{"name":"a","y":[1]}]}`, "not both"},
		{"only gaps", `{"kind":"line","y":[null]}`, "y has no values"},
		{"lengths", `{"kind":"line","x":[1,2],"series":[{"name":"a","y":[1,2]},{"name":"b","y":[1]}]}`, `x has 2 values and y of "b" has 1`},
		{"scatter without x", `{"kind":"scatter","y":[1]}`, `needs "x"`},
		{"scatter with names", `{"kind":"scatter","x":["a"],"y":[1]}`, "numbers only"},
		{"time with a wrong date", `{"kind":"time","x":["2026-02-30"],"y":[1]}`, `"2026-02-30" in x is no date`},
		{"time with numbers", `{"kind":"time","x":[1],"y":[1]}`, "x holds numbers"},
		{"histogram with x", `{"kind":"histogram","x":[1],"y":[1]}`, `no "x"`},
		{"histogram of two", `{"kind":"histogram","series":[{"name":"a","y":[1]},{"name":"b","y":[1]}]}`, "one series"},
		{"too large", `{"kind":"line","y":[1e101]}`, "beyond"},
		{"too large for a number", `{"kind":"line","y":[1e999]}`, "too large"},
		{"infinite x", `{"kind":"line","x":["inf"],"y":[1]}`, "no number within"},
		{"no number x", `{"kind":"scatter","x":["NaN"],"y":[1]}`, "no number within"},
		{"many bars", `{"kind":"bar","y":[` + many[:201] + `]}`, "too many to be read"},
		{"many points", `{"kind":"line","series":[{"name":"a","y":[` + many + `]},{"name":"b","y":[` + many + `]},{"name":"c","y":[` + many + `]}]}`, "60000 values are too many"},
		{"more points than a list may have", `{"kind":"line","y":[` + strings.Repeat("1,", 20_000) + `1]}`, "/y: "},
		{"NaN", `{"kind":"line","y":[NaN]}`, "was not run"},
		{"text in y", `{"kind":"line","y":["NaN"]}`, "/y/0: must be"},
		{"empty lists", `{"kind":"line","x":[],"y":[]}`, `put them into "y"`},
		{"unknown kind", `{"kind":"pie","y":[1]}`, "kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := called(t, drawing(toPNG), tt.args)
			if !got.Failed || !strings.Contains(got.Text, tt.want) || len(got.Files) != 0 {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
		})
	}
}

// TestFont looks for letters that would vanish without a word.
func TestFont(t *testing.T) {
	handler, err := fonts()
	if err != nil {
		t.Fatal(err)
	}
	face := handler.Cache().Lookup(font.Font{Typeface: typeface}, 12)
	var buf sfnt.Buffer
	for _, r := range "Az09 äßñ Ωλ Жя €−×°µ 中文简体 繁體 日本語 かなカナ 한국어 。、「」" {
		if i, err := face.Face.GlyphIndex(&buf, r); i == 0 || err != nil {
			t.Errorf("no letter %c: %v", r, err)
		}
	}
	empty, _ := drawn(t, `{"kind":"line","y":[1,2]}`)
	title, _ := drawn(t, `{"kind":"line","y":[1,2],"title":"株価の推移"}`)
	if has(title, color.White) >= has(empty, color.White) {
		t.Error("a Japanese title leaves no trace")
	}
	var c chart
	if got := c.label("a ש\u200f\x00 שм", 100); got != "a □ □м" || c.lost != "ש" {
		t.Errorf("a label became %q, and lost %q", got, c.lost)
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) string {
		var out []string
		for _, t := range ticks {
			out = append(out, t.Label)
		}
		return strings.Join(out, " ")
	}
	day := func(text string) float64 { v, _ := parseDate(text); return v }
	tests := []struct {
		name string
		got  []plot.Tick
		want string
	}{
		{"tens", numberTicks(0, 40), "0 5 10 15 20 25 30 35 40"},
		{"fractions", numberTicks(-0.2, 0.2), "−0.20 −0.15 −0.10 −0.05 0 0.05 0.10 0.15 0.20"},
		{"thousands", numberTicks(0, 3_000_000), "0 500,000 1,000,000 1,500,000 2,000,000 2,500,000 3,000,000"},
		{"huge", numberTicks(0, 4e15), "0 5e+14 1e+15 1.5e+15 2e+15 2.5e+15 3e+15 3.5e+15 4e+15"},
		{"no length", numberTicks(1, 1), ""},
		{"whole", wholeTicks(0.5, 3), "1 2 3"},
		{"minutes", timeTicks(day("2026-01-02 10:00"), day("2026-01-02 10:31")), "10:00 10:05 10:10 10:15 10:20 10:25 10:30"},
		{"hours", timeTicks(day("2026-01-02 10:10"), day("2026-01-02 16:00")), "2 Jan 11:00 2 Jan 12:00 2 Jan 13:00 2 Jan 14:00 2 Jan 15:00 2 Jan 16:00"},
		{"days", timeTicks(day("2026-02-26"), day("2026-03-03")), "26 Feb 27 Feb 28 Feb 1 Mar 2 Mar 3 Mar"},
		{"months", timeTicks(day("2025-11-15"), day("2026-04-02")), "Dec 2025 Jan 2026 Feb 2026 Mar 2026 Apr 2026"},
		{"years", timeTicks(day("1998-05-01"), day("2003-01-01")), "1999 2000 2001 2002 2003"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, labels(tt.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzTicks(f *testing.F) {
	f.Add(0.0, 1.0)
	f.Add(-1e100, 1e100)
	f.Add(1e15, 1e15+0.1)
	f.Fuzz(func(t *testing.T, a, b float64) {
		if !(math.Abs(a) <= valueMost && math.Abs(b) <= valueMost) {
			t.Skip()
		}
		low, high := widen(min(a, b), max(a, b))
		if !(low < high) {
			t.Fatalf("an axis from %g to %g", low, high)
		}
		if n := len(numberTicks(low, high)); n > 2*ticksMost+1 {
			t.Errorf("%d marks from %g to %g", n, low, high)
		}
		first, last := float64(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()), float64(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
		if low >= first && high <= last {
			if n := len(timeTicks(low, high)); n > 2*ticksMost+1 {
				t.Errorf("%d dates from %g to %g", n, low, high)
			}
		}
	})
}

func BenchmarkChart(b *testing.B) {
	y := make([]float64, 1000)
	for i := range y {
		y[i] = math.Sin(float64(i) / 50)
	}
	c := chart{kind: lineKind, title: "sine", x: counted(len(y)), series: []oneSeries{{"y", y}}}
	for b.Loop() {
		if _, err := c.draw(); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleKeys() {
	got, err := drawing(toPNG).Run(context.Background(), tools.Input{Args: json.RawMessage(`{"kind":"bar","title":"Votes","x":["yes","no"],"y":[3,1]}`)})
	fmt.Println(got.Text, err)
	// Output:
	// The bar chart is in the file votes.png, which people see.
	// y: 2 values from 1 to 3 <nil>
}

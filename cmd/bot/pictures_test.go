package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// mostPicture is how large a picture of the README may be.
const mostPicture = 60 << 10

// The pictures of the README are of the page as it is: each state comes about, in
// light and in dark. `make pictures` writes them anew; else it is looked that they
// are there, small, and shown.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := "../../docs/pictures"
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	schemes := []string{"light", "dark"}
	if testing.Short() {
		schemes = schemes[:1]
	}
	draw := func(w *window, name string, shot chromedp.Action[[]byte]) {
		for _, scheme := range schemes {
			w.scheme(scheme)
			raw, err := chromedp.Run(w.ctx, shot)
			if err != nil {
				t.Fatal(err)
			}
			file := name + "-" + scheme + ".png"
			if os.Getenv("NOD_PICTURES") == dir {
				if err := os.WriteFile(filepath.Join(dir, file), smaller(t, raw), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.Stat(filepath.Join(dir, file))
			if err != nil || kept.Size() > mostPicture || !strings.Contains(string(readme), `"docs/pictures/`+file+`"`) {
				t.Errorf("%s: it is not there, not shown in the README, or too large: %v", file, err)
			}
		}
	}
	newest := func(kind string) chromedp.Action[[]byte] {
		return chromedp.Screenshot(`(//*[@id="log-thread"]//article[@data-kind="` + kind + `"])[last()]`)
	}

	ada.say("how far over budget are we at 2340 plus 17%? then restart service api")
	ada.until(last("approval", "waiting"))
	ben.do(chromedp.EmulateViewport(640, 900)) // a card alone, as wide as people read it
	ben.open()
	ben.until(last("approval", "waiting"))
	draw(ben, "approval", newest("approval"))
	ben.click("Approve")
	ada.answers("restarted api")
	ada.until(last("steps", "done"))
	ada.click("Steps")
	ada.do(chromedp.EmulateViewport(680, 1600))
	ada.until(`(document.querySelector("#log-thread").style.flex = "none") === "none"`) // no higher than what is in it
	draw(ada, "thread", chromedp.Screenshot(chromedp.CSS("#log-thread")))

	ada.say("restart service web")
	ben.until(last("approval", "waiting"))
	ben.click("Deny")
	ben.until(`document.activeElement.name === "reason"`)
	ben.writes(`input[name="reason"]:not([type=hidden])`, "too late in the day")
	ben.click("Say why")
	ben.until(`Array.from(document.querySelectorAll('#log-thread [data-kind="approval"]')).at(-1).innerText.includes("too late")`)
	ben.answers("denied")
	ben.until(last("answer", "done"))
	draw(ben, "denial", newest("approval"))

	table := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(table, []byte("month,visits\n2026-01,120\n2026-02,180\n2026-03,150\n2026-04,240\n2026-05,310\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ada.do(chromedp.SetUploadFiles(chromedp.CSS(`input[type="file"]`), []string{table}))
	ada.say("please draw this")
	ben.until(`document.querySelector('#log-thread [data-kind="file"] img').naturalWidth > 100`)
	draw(ben, "chart", newest("file"))
}

// smaller writes a picture in 256 colours: of each shade the one that it has most of.
func smaller(t *testing.T, raw []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	type shade [3]uint32
	count, best, most := map[color.Color]int{}, map[shade]color.Color{}, map[shade]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			c := full.At(x, y)
			r, g, b, _ := c.RGBA()
			s := shade{r >> 12, g >> 12, b >> 12}
			most[s]++
			if count[c]++; best[s] == nil || count[c] > count[best[s]] {
				best[s] = c
			}
		}
	}
	shades := slices.SortedFunc(maps.Keys(most), func(a, b shade) int { return cmp.Or(cmp.Compare(most[b], most[a]), slices.Compare(a[:], b[:])) })
	var colours color.Palette
	for _, s := range shades[:min(len(shades), 256)] {
		colours = append(colours, best[s])
	}
	flat := image.NewPaletted(full.Bounds(), colours)
	draw.Draw(flat, flat.Bounds(), full, full.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, flat); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

package chart

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"nod/tools"
)

// fontData is WenQuanYi Micro Hei, which has Latin, Greek, Cyrillic,
// Chinese, Japanese and Korean letters in one file. Letters that a font lacks
// would vanish without a word, so it comes along; font.LICENSE is its
// licence.
//
//go:embed font.ttf.gz
var fontData []byte

// typeface is the font's name among plot's fonts.
const typeface = font.Typeface("WenQuanYi Micro Hei")

// fonts unpacks the font, the first time that a chart is drawn.
var fonts = sync.OnceValues(func() (text.Handler, error) {
	z, err := gzip.NewReader(bytes.NewReader(fontData))
	if err != nil {
		return nil, fmt.Errorf("unpack font: %w", err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("unpack font: %w", err)
	}
	face, err := opentype.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read font: %w", err)
	}
	return text.Plain{Fonts: font.NewCache(font.Collection{{Font: font.Font{Typeface: typeface}, Face: face}})}, nil
})

// noLetter is drawn for a letter that the font lacks, which would vanish.
const noLetter = '□'

// label makes a text fit for the picture: one line, of letters that the font
// has. It notes those that it has not.
func (c *chart) label(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if tools.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1 // joiners, directions: nothing to be seen
		}
		return r
	}, tools.Unstyled(strings.Join(strings.Fields(text), " ")))
	handler, err := fonts()
	if err != nil {
		return text // drawing will say why
	}
	face := handler.Cache().Lookup(font.Font{Typeface: typeface}, 12).Face
	var buf sfnt.Buffer
	return tools.OneLine(strings.Map(func(r rune) rune {
		if i, err := face.GlyphIndex(&buf, r); r == ' ' || err == nil && i != 0 {
			return r
		}
		if !strings.ContainsRune(c.lost, r) && utf8.RuneCountInString(c.lost) < 20 {
			c.lost += string(r)
		}
		return noLetter
	}, text), most)
}

// newPlot makes an empty plot that writes in the font.
func newPlot() (*plot.Plot, error) {
	handler, err := fonts()
	if err != nil {
		return nil, err
	}
	p := plot.New()
	p.TextHandler = handler
	for style, size := range map[*text.Style]vg.Length{
		&p.Title.TextStyle: 15, &p.X.Label.TextStyle: 12, &p.Y.Label.TextStyle: 12,
		&p.X.Tick.Label: 10, &p.Y.Tick.Label: 10, &p.Legend.TextStyle: 11,
	} {
		style.Font = font.Font{Typeface: typeface, Size: vg.Points(float64(size))}
		style.Handler = handler
	}
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = vg.Points(8), vg.Points(4), vg.Points(6)
	p.Legend.Padding, p.Legend.ThumbnailWidth = vg.Points(2), vg.Points(18)
	return p, nil
}

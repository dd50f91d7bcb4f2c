package terminal

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	look "charm.land/glamour/v2/ansi"
	looks "charm.land/glamour/v2/styles"
	"github.com/charmbracelet/x/ansi"

	"nod/chat"
)

// These stand for & and < while the library draws. It decodes character references, and
// &#27; would become the escape that clean took out. It drops HTML, and with it any <name>.
const (
	ampersand = "\uE000"
	less      = "\uE001"
)

var (
	hide = strings.NewReplacer("&", ampersand, "<", less)
	show = strings.NewReplacer(ampersand, "&", "%EE%80%80", "&", less, "<", "%EE%80%81", "<")
	void = strings.NewReplacer(ampersand, "\uFFFD", less, "\uFFFD")
)

var (
	links   = regexp.MustCompile("\x1b\\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
	padding = regexp.MustCompile(`(?m) +$`)
)

// drawn gives Markdown as a terminal shows it. The library is set up here, at its first
// use; its links are taken out, since they hide an address behind a text.
func drawn(markdown string, width int, color bool) string {
	style := looks.ASCIIStyleConfig // no colours: nobody knows the background
	var margin uint
	style.Document.Margin = &margin
	style.Heading.Bold, style.Link.Underline, style.Strong, style.Emph = &color, &color, look.StylePrimitive{Bold: &color}, look.StylePrimitive{Italic: &color}
	style.Code = look.StyleBlock{StylePrimitive: look.StylePrimitive{Prefix: "`", Suffix: "`"}}
	style.Table = looks.DarkStyleConfig.Table
	r, err := glamour.NewTermRenderer(glamour.WithStyles(style), glamour.WithWordWrap(width), glamour.WithPreservedNewLines(), glamour.WithInlineTableLinks(true))
	if err != nil {
		return clean(markdown)
	}
	out, err := r.Render(hide.Replace(void.Replace(clean(markdown))))
	if err != nil {
		return clean(markdown)
	}
	out = show.Replace(links.ReplaceAllString(out, ""))
	if !color {
		out = ansi.Strip(out)
	}
	return strings.Trim(padding.ReplaceAllString(out, ""), "\n")
}

// drawnRows draws an answer or a notice on a terminal; elsewhere its text stays as it is.
func (a *Adapter) drawnRows(t *chat.Text) []row {
	s := a.con.screen
	if !s.Live && !s.Color || s.Size == nil {
		return textRows(t)
	}
	width, _ := s.Size()
	lines := strings.Split(drawn(t.Markdown, max(width-1-len(indent), 20), s.Color), "\n")
	label := textRows(&chat.Text{Notice: t.Notice})[0]
	if text := label.paint(s.Color) + " " + lines[0]; len(lines) == 1 && ansi.StringWidth(text) < width {
		return []row{{strings.TrimRight(text, " "), plain}}
	}
	rows := []row{label}
	for _, l := range lines {
		rows = append(rows, row{strings.TrimRight(indent+l, " "), plain})
	}
	return rows
}

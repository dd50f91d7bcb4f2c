package tools

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"nod/llm"
)

// How much of an output goes where.
const (
	// Cap is the most bytes of a result's text that the model reads.
	Cap = 8 << 10
	// FileCap is the most bytes of the file that keeps a longer text whole.
	FileCap = 8 << 20
)

// bounded makes a result fit for a prompt and for people's screens. A text that
// is too long keeps its beginning and its end, and becomes a file as a whole.
func bounded(tool string, r llm.Result) llm.Result {
	r.Text = Clean(r.Text)
	if strings.TrimSpace(r.Text) == "" && len(r.Files) == 0 {
		r.Text = "(no output)"
	}
	if len(r.Text) <= Cap {
		return r
	}
	whole := r.Text
	file := llm.File{Name: tool + "-output.txt", MediaType: "text/plain; charset=utf-8", Quiet: true}
	note := "the artifact named below has all of it"
	if len(whole) > FileCap {
		note = "the artifact named below has more, but not all"
	}
	file.Data = []byte(shorten(whole, FileCap, ""))
	r.Text = shorten(whole, Cap, note)
	r.Files = append(r.Files[:len(r.Files):len(r.Files)], file)
	return r
}

// shorten takes the middle out of a text of more than limit bytes, and leaves a
// stub there that says how much it was. More is left of the beginning than of
// the end.
func shorten(text string, limit int, note string) string {
	if len(text) <= limit {
		return text
	}
	if note != "" {
		note = "; " + note
	}
	room := limit - len(note) - 80 // room for the stub
	head := CutBefore(text, room*5/8)
	tail := cutAfter(text, len(text)-(room-room*5/8))
	return fmt.Sprintf("%s\n[… %d bytes are left out here%s …]\n%s", text[:head], tail-head, note, text[tail:])
}

// reach is how far a cut moves to fall between two lines.
const reach = 200

// CutBefore finds a good place to cut at or a little before i.
func CutBefore(s string, i int) int {
	for !utf8.RuneStart(s[i]) {
		i--
	}
	if n := strings.LastIndexByte(s[max(i-reach, 0):i], '\n'); n >= 0 {
		return max(i-reach, 0) + n + 1
	}
	return i
}

// cutAfter finds a good place to cut at or a little after i.
func cutAfter(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	if n := strings.IndexByte(s[i:min(i+reach, len(s))], '\n'); n >= 0 {
		return i + n + 1
	}
	return i
}

// style matches colours of a terminal (ECMA-48, SGR), and nothing else.
var style = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// Clean makes text harmless: bytes that are not UTF-8 and control characters
// other than tab and newline are replaced by a visible sign, so that nothing
// that was there vanishes. Only colours are taken out.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsFunc(text, IsControl) {
		return text
	}
	text = Unstyled(text)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n' // a progress bar goes back to the start of its line
		case !IsControl(r):
			return r
		case r < 0x20:
			return '\u2400' + r // control pictures
		case r == 0x7f:
			return '\u2421'
		}
		return '\ufffd'
	}, text)
}

// IsControl knows C0 but for tab and newline, DEL, C1, and the tags, which are
// an alphabet that models read and people do not see (Unicode, E0000 to E007F).
func IsControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0xe0000 && r < 0xe0080
}

// OneLine makes text fit for a line of a result.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

var unfitForName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// PlainName makes a text fit for the name of a file; it may come out empty.
func PlainName(text string) string {
	return strings.Trim(unfitForName.ReplaceAllString(text, "-"), "-.")
}

// Unstyled takes the colours of a terminal out.
func Unstyled(text string) string { return style.ReplaceAllString(text, "") }

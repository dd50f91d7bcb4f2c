// Package dialect writes CommonMark, code and names as Discord draws them.
package dialect

import (
	"cmp"
	"html"
	"regexp"
	"strconv"
	"strings"

	"nod/chat/markdown"
)

// Discord draws a part of Markdown by rules of its own
// (https://support.discord.com/hc/en-us/articles/210298617). It knows one fence,
// of three backticks, which begins and ends wherever three of them stand; it draws
// no tables, rules, images, references or HTML, and takes __ for underlining.
// This file writes CommonMark so that it reads there as it was meant.

// widest is how many columns of code a phone shows without breaking the lines.
const widest = 48

// Write writes CommonMark for Discord. What is code is set aside first, so that
// nothing in it is taken for markup; the rest is written anew, and then the code
// is put back in fences that it can't end.
func Write(src string) string {
	src = noHolds.Replace(src)
	var code []string
	held := func(lang, text string) string {
		code = append(code, Fence(lang, text)+Unseen(text))
		return "\uE000" + strconv.Itoa(len(code)-1) + "\uE001"
	}
	md := markdown.Redraw(src, func(b markdown.Block) (string, bool) {
		if b.Kind == markdown.Code {
			return held(b.Lang, strings.TrimSuffix(b.Text, "\n")), true
		}
		if b.Grid == nil {
			return "", false
		}
		aligned := markdown.AlignedTable(b.Grid)
		if markdown.Width(aligned) > widest && len(b.Grid.Rows) > 0 {
			return markdown.Records(b.Grid), true
		}
		return held("", strings.TrimSuffix(aligned, "\n")), true
	})
	return holds.ReplaceAllStringFunc(prose(md), func(hold string) string {
		before, number, _ := strings.Cut(hold, "\uE000")
		n, err := strconv.Atoi(strings.TrimSuffix(number, "\uE001"))
		if err != nil || n >= len(code) {
			return ""
		}
		blank := strings.Map(func(r rune) rune { // in an item or a quote, all of it is
			if r == '>' {
				return r
			}
			return ' '
		}, before)
		if strings.Trim(before, " \t>") == "" {
			blank = before
		}
		return before + strings.ReplaceAll(code[n], "\n", "\n"+blank)
	})
}

// holds matches the place of a piece of code, and what stands before it in its
// line.
var holds = regexp.MustCompile("(?m)(?:^[^\n\uE000\uE001]*)?\uE000[0-9]*\uE001?|\uE001")

// noHolds takes out the characters that places of code are marked with, so that
// nobody has a piece of code put in as often as they like.
var noHolds = strings.NewReplacer("\uE000", "", "\uE001", "")

// Unseen warns of what was put into code so that it ends where it should.
func Unseen(code string) string {
	if !strings.Contains(code, "```") {
		return ""
	}
	return "\n-# The triple backticks in it hold characters that can't be seen: type them anew where it is copied to."
}

var (
	ruleLine       = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	underLine      = regexp.MustCompile(`^ {0,3}(=+|-+) *$`)
	headingLine    = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	definitionLine = regexp.MustCompile(`^ {0,3}\[([^\]\[\n]{1,200})\]:[ \t]*<?([^\s<>]+)>?[ \t]*(?:"[^"\n]*"|'[^'\n]*'|\([^)\n]*\))?[ \t]*$`)
	bulletLine     = regexp.MustCompile(`^([ \t>]*)\+([ \t])`)
	taskLine       = regexp.MustCompile(`^([ \t>]*(?:[-*]|\d{1,9}[.)])[ \t]+)\[([ xX])\]([ \t])`)
	plainLine      = regexp.MustCompile(`^ {0,3}[^\s#>|\-+*\d\x{E000}]`)
)

// DrawnRule stands for a rule.
const DrawnRule = "───────"

// prose writes what is not code.
func prose(md string) string {
	lines := strings.Split(md, "\n")
	links := &references{map[string]string{}, max(len(md), leastRoom)}
	var out []string
	heading := false // the line above made one of that above it, and none of itself
	for i, line := range lines {
		above := i > 0 && !heading && strings.TrimSpace(lines[i-1]) != ""
		heading = false
		mark := underLine.FindStringSubmatch(line)
		switch m := definitionLine.FindStringSubmatch(line); {
		case m != nil && !above:
			links.to[strings.ToLower(m[1])] = m[2]
			lines[i] = ""
			continue
		case mark != nil && above && len(out) > 0 && plainLine.MatchString(lines[i-1]):
			out[len(out)-1] = map[byte]string{'=': "# ", '-': "## "}[mark[1][0]] + strings.TrimSpace(out[len(out)-1])
			heading = true
			continue
		case ruleLine.MatchString(line):
			line = DrawnRule
		}
		out = append(out, structured(line))
	}
	paragraphs := strings.Split(strings.Join(out, "\n"), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = ""
		for piece := range strings.SplitAfterSeq(p, "\uE001") { // no code within lines reaches over a block
			paragraphs[i] += inline(piece, links)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// structured writes what a line begins with.
func structured(line string) string {
	if m := headingLine.FindStringSubmatch(line); m != nil {
		if len(m[1]) > 3 {
			return "**" + strings.Trim(m[2], "*") + "**"
		}
		return m[1] + " " + m[2]
	}
	line = bulletLine.ReplaceAllString(line, "$1-$2")
	return taskLine.ReplaceAllStringFunc(line, func(s string) string {
		m := taskLine.FindStringSubmatch(s)
		return m[1] + map[string]string{" ": "☐", "x": "☑", "X": "☑"}[m[2]] + m[3]
	})
}

// inliner writes what stands within lines anew, from the beginning to the end.
type inliner struct {
	out     strings.Builder
	rest    string
	last    byte // what was written last
	links   *references
	endless bool // no comment ends in what is left
	// runs is where the last run of backticks of each length begins, counted from the end.
	// Else each run that nothing ends would be looked for in all that is left.
	runs map[int]int
}

// references are the addresses that a text defines. Each may be written as often as
// it is referred to, but all together have only so much room, lest a long one that is
// referred to often makes of a text one of its length squared.
type references struct {
	to   map[string]string
	room int
}

// leastRoom is what references have in a short text.
const leastRoom = 100_000

// take gives the address of a name while there is room for it.
func (r *references) take(name string) (string, bool) {
	to, ok := r.to[strings.ToLower(name)]
	if !ok || len(to) > r.room {
		return "", false
	}
	r.room -= len(to)
	return to, true
}

// The pieces that mean something else on Discord, or would be torn by what is
// written anew; each is looked for at the beginning of what is left.
var (
	addressAt = regexp.MustCompile(`^(?:https?://[^\s<>\x{E000}]+|<[^<>\s]+>)`)
	imageAt   = regexp.MustCompile(`^!\[([^\]\[\n]*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)`)
	targetAt  = regexp.MustCompile(`^\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)`)
	refersAt  = regexp.MustCompile(`^!?\[([^\]\[\n]{1,300})\](?:\[([^\]\[\n]{0,200})\])?`)
	strongAt  = regexp.MustCompile(`^__([^\s_](?:[^_\n\x{E000}]|_[^_])*?)__`)
	tagAt     = regexp.MustCompile(`(?i)^</?(details|summary|b|strong|i|em|u|ins|s|del|p|div|span|br|hr|sub|sup|a|img|kbd|code|pre|center|ul|ol|li|h[1-6]|font|small|mark|table|thead|tbody|tr|td|th)(?:\s[^<>]*)?/?>`)
	entityAt  = regexp.MustCompile(`^&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});`)
)

func inline(text string, links *references) string {
	p := &inliner{rest: text, links: links, runs: map[int]int{}}
	for i := strings.IndexByte(text, '`'); i >= 0; i = strings.IndexByte(text, '`') {
		text = text[i:]
		run := ticks(text)
		p.runs[run] = len(text)
		text = text[run:]
	}
	for p.rest != "" {
		if !p.one() {
			p.put(p.rest[:1], 1)
		}
	}
	return p.out.String()
}

// put writes a piece for so many bytes of what is left.
func (p *inliner) put(piece string, took int) bool {
	p.out.WriteString(piece)
	if took > 0 {
		p.last = p.rest[took-1]
	}
	p.rest = p.rest[took:]
	return true
}

// one writes the piece that is left to be written first, if it is a special one.
func (p *inliner) one() bool {
	switch p.rest[0] {
	case '\\':
		return p.escaped()
	case '`':
		return p.code()
	case 'h':
		if word(p.last) { // looked at first: an address may be as long as all that is left
			return false
		}
		if m := addressAt.FindString(p.rest); m != "" {
			return p.put(m, len(m))
		}
	case '<':
		return p.angle()
	case '!', '[':
		return p.link()
	case ']':
		if m := targetAt.FindString(p.rest); m != "" {
			return p.put(safe(m), len(m))
		}
	case '_':
		if m := strongAt.FindStringSubmatch(p.rest); m != nil && !word(p.last) && (len(p.rest) == len(m[0]) || !word(p.rest[len(m[0])])) {
			return p.put("**"+inline(m[1], p.links)+"**", len(m[0]))
		}
	case '&':
		if m := entityAt.FindString(p.rest); m != "" && html.UnescapeString(m) != m {
			return p.put(markup.Replace(noHolds.Replace(strings.ReplaceAll(html.UnescapeString(m), "\u00a0", " "))), len(m))
		}
	}
	return false
}

func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// escaped leaves out the backslash that breaks a line, which Discord breaks
// anyway.
func (p *inliner) escaped() bool {
	if len(p.rest) == 1 || p.rest[1] == '\n' {
		return p.put("", 1)
	}
	if p.rest[1] >= 0x80 {
		return false
	}
	return p.put(p.rest[:2], 2)
}

// code copies code within a line. A run of backticks that nothing ends would
// begin code that goes on through all that follows.
func (p *inliner) code() bool {
	run := ticks(p.rest)
	if last := p.runs[run]; last == 0 || last > len(p.rest)-run {
		return p.put(strings.Repeat("\\`", run), run)
	}
	for at := run; ; {
		at += strings.IndexByte(p.rest[at:], '`')
		end := at + ticks(p.rest[at:])
		if end-at != run {
			at = end
			continue
		}
		text := p.rest[run:at]
		if strings.TrimSpace(text) == "" {
			return p.put(strings.Repeat("\\`", run), run)
		}
		mark := "`"
		if strings.Contains(text, "`") {
			mark, text = "``", strings.ReplaceAll(text, "``", "`\u200b`")
		}
		if strings.HasPrefix(text, "`") {
			text = " " + text
		}
		if strings.HasSuffix(text, "`") {
			text += " "
		}
		return p.put(mark+text+mark, end)
	}
}

// ticks is how many backticks a text begins with.
func ticks(s string) (n int) {
	for n < len(s) && s[n] == '`' {
		n++
	}
	return n
}

// angle writes an address or markup of Discord's as it is, and HTML as the
// little of it that Discord can draw.
func (p *inliner) angle() bool {
	if strings.HasPrefix(p.rest, "<!--") && !p.endless { // a comment is left out
		if end := strings.Index(p.rest[len("<!--"):], "-->"); end >= 0 {
			return p.put("", len("<!--")+end+len("-->"))
		}
		p.endless = true
	}
	if m := tagAt.FindStringSubmatch(p.rest); m != nil {
		drawn := map[string]string{
			"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "u": "__", "ins": "__",
			"br": "\n", "summary": "**",
		}[strings.ToLower(m[1])]
		return p.put(drawn, len(m[0]))
	}
	if m := addressAt.FindString(p.rest); m != "" && !strings.Contains(m, "](") { // that would be a link in angles
		if strange.MatchString(m[1:]) && !leads.MatchString(m) {
			return p.put("\\"+m, len(m))
		}
		return p.put(m, len(m))
	}
	return false
}

// link writes an image as a link, and a reference as the link that it stands for.
func (p *inliner) link() bool {
	if m := imageAt.FindStringSubmatch(p.rest); m != nil {
		return p.put(linked(m[1], m[2]), len(m[0]))
	}
	m := refersAt.FindStringSubmatch(p.rest)
	if m == nil || strings.HasPrefix(p.rest[len(m[0]):], "(") {
		return false
	}
	to, ok := p.links.take(cmp.Or(m[2], m[1]))
	if !ok {
		return false
	}
	return p.put(linked(m[1], to), len(m[0]))
}

func linked(text, to string) string {
	if strings.TrimSpace(text) == "" || to == "" {
		return text + to
	}
	return "[" + text + safe("]("+to+")")
}

// safe is the end of a link, if it leads to http or mailto: else it is text.
func safe(end string) string {
	if leads.MatchString(end[len("]("):]) {
		return end
	}
	return "\\" + end
}

var (
	leads = regexp.MustCompile(`^\s*<?(?i:https?://|mailto:)`)
	// strange matches an address in angle brackets that leads elsewhere. Markup of Discord's
	// has one letter, or is no address.
	strange = regexp.MustCompile(`^(?i:[a-z][a-z0-9+.-]+:)`)
)

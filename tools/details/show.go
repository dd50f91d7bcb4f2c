package details

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/tools"
	"nod/tools/document"
)

const (
	matchesMost = 20   // lines with a word that one call shows
	around      = 2    // lines shown before and behind each
	matchWidth  = 400  // bytes shown of such a line
	asideWidth  = 160  // bytes shown of the lines around it
	lineWidth   = 1000 // bytes shown of one line of several
)

// about describes a file and shows its beginning.
func (p paper) about() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %s (%s).", p.name, p.kind, bytesOf(p.size))
	if p.note != "" {
		fmt.Fprintf(&b, " %s", p.note)
	}
	if p.text == "" {
		return b.String()
	}
	fmt.Fprintf(&b, " The text has %d lines.\n", p.count)
	p.writeColumns(&b)
	p.writeOutline(&b)
	from, room := 1, roomMost+headRoom-b.Len()-200
	to, text := p.window(from, p.count, room)
	fmt.Fprintf(&b, "\nLines 1 to %d%s:\n%s", to, p.readOn(to, p.count), text)
	return b.String()
}

// writeColumns names the columns of a table, without which a row says little.
func (p paper) writeColumns(b *strings.Builder) {
	if p.columns != "" {
		fmt.Fprintf(b, "Columns: %s\n", tools.Clean(p.columns))
	}
}

// writeOutline lists the sections with the lines at which they begin.
func (p paper) writeOutline(b *strings.Builder) {
	const room = roomMost / 3
	if len(p.sections) == 0 {
		return
	}
	b.WriteString("Sections:\n")
	start, number, at := b.Len(), 1, 0
	for i, s := range p.sections {
		if b.Len()-start > room {
			fmt.Fprintf(b, "… and %d more\n", len(p.sections)-i)
			return
		}
		number += strings.Count(p.text[at:s.At], "\n")
		at = s.At
		fmt.Fprintf(b, "%s- %s (line %d)\n", strings.Repeat("  ", max(s.Level-1, 0)), tools.Clean(s.Title), number)
	}
}

// lines shows a range of lines, as far as there is room.
func (p paper) lines(what string, from, to int) string {
	end, text := p.window(from, to, roomMost)
	var b strings.Builder
	fmt.Fprintf(&b, "%s, lines %d to %d of %d%s:\n", what, from, end, p.count, p.readOn(end, to))
	if from > 1 {
		p.writeColumns(&b)
	}
	b.WriteString(text)
	return b.String()
}

// readOn says how to see the rest.
func (p paper) readOn(end, to int) string {
	if end >= to {
		return ""
	}
	return fmt.Sprintf(` (read on with lines "%d-%d")`, end+1, to)
}

// window gives lines up to a size, and the number of the last one.
func (p paper) window(from, to, room int) (end int, text string) {
	var b strings.Builder
	width := lineWidth
	if from == to {
		width = room - 100
	}
	at := startOf(p.text, from)
	for end = from - 1; end < to; end++ {
		line, next := lineAt(p.text, at)
		line = clip(tools.Clean(clip(line, 0, 0, width)), 0, 0, width) // a sign for a control character is longer
		if b.Len() > 0 && b.Len()+len(line) >= room {
			break
		}
		b.WriteString(line + "\n")
		at = next
	}
	return end, strings.TrimSuffix(b.String(), "\n")
}

// startOf is the byte with which a line begins.
func startOf(text string, number int) int {
	at := 0
	for range number - 1 {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	return at
}

// lineAt gives the line that begins at a byte, and where the next one does.
func lineAt(text string, at int) (line string, next int) {
	n := strings.IndexByte(text[at:], '\n')
	if n < 0 {
		return text[at:], len(text)
	}
	return strings.TrimSuffix(text[at:at+n], "\r"), at + n + 1
}

// clip shortens a line to about a width, around its match.
func clip(line string, start, end, width int) string {
	if len(line) <= width {
		return line
	}
	from := max(0, min(start-(width-(end-start))/2, len(line)-width))
	to := min(from+width, len(line))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	text := line[from:to]
	if from > 0 {
		text = fmt.Sprintf("[%d bytes …] ", from) + text
	}
	if to < len(line) {
		text += fmt.Sprintf(" [… %d bytes]", len(line)-to)
	}
	return text
}

// find gives the index of the section that a title means: exactly, else by its
// beginning, else by a part of it.
func (p paper) find(title string) (int, bool) {
	plainTitle := func(s string) string {
		return strings.Join(strings.Fields(strings.ToLower(strings.TrimLeft(s, "# "))), " ")
	}
	want := plainTitle(title)
	for _, means := range []func(have string) bool{
		func(have string) bool { return have == want },
		func(have string) bool { return strings.HasPrefix(have, want) && holds(have, want) },
		func(have string) bool { return holds(have, want) },
	} {
		if i := slices.IndexFunc(p.sections, func(s document.Section) bool { return means(plainTitle(s.Title)) }); i >= 0 {
			return i, true
		}
	}
	return 0, false
}

// holds says whether a title has some words in it, where 1 is no part of 12.
func holds(title, words string) bool {
	i := strings.Index(title, words)
	if i < 0 || words == "" {
		return false
	}
	digit := func(at int) bool { return at >= 0 && at < len(title) && title[at] >= '0' && title[at] <= '9' }
	end := i + len(words)
	return !(digit(i-1) && digit(i)) && !(digit(end-1) && digit(end))
}

// bounds are the first and the last line of a section.
func (p paper) bounds(i int) (from, to int) {
	s := p.sections[i]
	end := len(p.text)
	for _, next := range p.sections[i+1:] {
		if next.Level <= s.Level {
			end = next.At
			break
		}
	}
	from = 1 + strings.Count(p.text[:s.At], "\n")
	return from, from + strings.Count(strings.TrimRight(p.text[s.At:end], " \t\r\n"), "\n")
}

func (p paper) noSection(title string) error {
	if len(p.sections) == 0 {
		return tools.Refuse(`%s has no sections; use "lines" or "query"`, p.name)
	}
	var names []string
	for _, s := range p.sections {
		names = append(names, tools.Clean(s.Title))
	}
	return tools.Refuse("%s has no section %q; there are: %s", p.name, tools.OneLine(title, 100), listed(nearestFirst(names, title), 30))
}

// lineMatch is a line that holds words of a query.
type lineMatch struct {
	number     int
	at         int // the byte with which it begins
	start, end int // the first of the words in it
}

// search shows the lines that hold the words of a query: all of them, or where
// no line does, as many of them as one does.
func (p paper) search(query string) string {
	words := queryWords(query)
	matches, total, best := p.matches(words)
	if total == 0 {
		return fmt.Sprintf("No line of %s holds %s; all %d were looked through. Try other words.", p.name, quotedWords(words), p.count)
	}
	shown, text := p.writeMatches(matches)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d lines of %d hold %s", p.name, total, p.count, quotedWords(words))
	if best < len(words) {
		fmt.Fprintf(&b, " (none holds all of these words; these hold %d of %d)", best, len(words))
	}
	if shown < total {
		fmt.Fprintf(&b, "; the first %d are shown: give more words, or read on with lines", shown)
	}
	b.WriteString("\n")
	p.writeColumns(&b)
	b.WriteString(text)
	return b.String()
}

// queryWords takes a query apart. What stands in quotes is one word.
func queryWords(query string) []string {
	query = strings.ToLower(strings.TrimSpace(query))
	if inner := strings.Trim(query, `"“”`); inner != query && inner != "" && !strings.ContainsAny(inner, `"“”`) {
		return []string{inner}
	}
	var words []string
	for _, w := range strings.Fields(query) {
		if w = strings.Trim(w, `"“”.,;:!?`); w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return []string{query}
	}
	return words
}

func quotedWords(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, fmt.Sprintf("%q", w))
	}
	return tools.OneLine(strings.Join(out, " and "), 200)
}

// matches finds the lines that hold most of some words, in one pass.
func (p paper) matches(words []string) (first []lineMatch, total, best int) {
	number, at := 0, 0
	for at < len(p.text) {
		line, next := lineAt(p.text, at)
		number++
		lower := strings.ToLower(line)
		held, word := 0, ""
		for _, w := range words {
			if strings.Contains(lower, w) {
				held++
				if len(w) > len(word) {
					word = w
				}
			}
		}
		if held > best {
			first, total, best = nil, 0, held
		}
		if held > 0 && held == best {
			if total++; len(first) < matchesMost {
				start, end := place(line, lower, word)
				first = append(first, lineMatch{number, at, start, end})
			}
		}
		at = next
	}
	return first, total, best
}

// place finds a word in a line. Lower case can have another length than the
// line has.
func place(line, lower, word string) (start, end int) {
	if len(line) == len(lower) {
		start = strings.Index(lower, word)
		return start, start + len(word)
	}
	if at := regexp.MustCompile("(?i)" + regexp.QuoteMeta(word)).FindStringIndex(line); at != nil {
		return at[0], at[1]
	}
	return 0, 0
}

// writeMatches shows matches with the lines around them, as far as there is
// room.
func (p paper) writeMatches(matches []lineMatch) (shown int, text string) {
	var b strings.Builder
	last, under := 0, -1 // the last line that was written, and its section
	for i, m := range matches {
		var group strings.Builder
		if s := p.sectionAt(m.at); s != under && s >= 0 {
			under = s
			fmt.Fprintf(&group, "[%s]\n", tools.Clean(p.sections[s].Title))
		} else if last > 0 && m.number-around > last+1 {
			group.WriteString("--\n")
		}
		until := m.number + around
		if i+1 < len(matches) {
			until = min(until, matches[i+1].number-1)
		}
		number, at := m.number, m.at
		for number > max(m.number-around, last+1, 1) {
			at = 1 + strings.LastIndexByte(p.text[:at-1], '\n')
			number--
		}
		for ; number <= until && at < len(p.text); number++ {
			line, next := lineAt(p.text, at)
			if number == m.number {
				fmt.Fprintf(&group, "%d: %s\n", number, tools.Clean(clip(line, m.start, m.end, matchWidth)))
			} else {
				fmt.Fprintf(&group, "%d- %s\n", number, tools.Clean(clip(line, 0, 0, asideWidth)))
			}
			at, last = next, number
		}
		if i > 0 && b.Len()+group.Len() > roomMost {
			break
		}
		b.WriteString(group.String())
		shown++
	}
	return shown, strings.TrimSuffix(b.String(), "\n")
}

// sectionAt gives the index of the section in which a byte lies, or -1.
func (p paper) sectionAt(at int) int {
	i, exact := slices.BinarySearchFunc(p.sections, at, func(s document.Section, at int) int { return s.At - at })
	if exact {
		return i
	}
	return i - 1
}

package document

import "strings"

// namesMost is how many columns of a table are named, whatever it holds, and nameMost
// how many bytes a name has.
const (
	namesMost = 100
	nameMost  = 400
)

// Table is what is known of a table.
type Table struct {
	Names   []string // of its first columns, each cut where nobody reads on
	Columns int
	Rows    int // below the names
}

// scanTable walks once over a table as text (RFC 4180, with quotes as people write
// them) and keeps nothing but the first names: encoding/csv would make something of
// every field, and a line of eight megabytes can have four million of them.
func scanTable(text string, comma byte) Table {
	var t Table
	text = strings.TrimSuffix(text, "\r") // as encoding/csv does at the end
	for records := 0; text != ""; {
		if blank := blankLine(text); blank > 0 {
			text = text[blank:]
			continue
		}
		for end := false; !end; {
			var field string
			field, text, end = nextField(text, comma)
			if records > 0 {
				continue
			}
			t.Columns++
			if len(t.Names) < namesMost {
				t.Names = append(t.Names, strings.ToValidUTF8(field[:min(len(field), nameMost)], ""))
			}
		}
		records++
		t.Rows = records - 1
	}
	return t
}

// blankLine is how long an empty line is with which text begins; 0: it is none.
func blankLine(text string) int {
	switch {
	case text[0] == '\n':
		return 1
	case strings.HasPrefix(text, "\r\n"):
		return 2
	}
	return 0
}

// nextField gives the field with which text begins, what is behind it and its
// separator, and whether it was the last of its record.
func nextField(text string, comma byte) (field, rest string, end bool) {
	if strings.HasPrefix(text, `"`) {
		return quotedField(text[1:], comma)
	}
	i := strings.IndexAny(text, string([]byte{comma, '\n'}))
	if i < 0 {
		return text, "", true
	}
	if text[i] == comma {
		return text[:i], text[i+1:], false
	}
	return strings.TrimSuffix(text[:i], "\r"), text[i+1:], true
}

// quotedField is the same behind an opening quote. One that is not followed by the
// field's end is a letter.
func quotedField(text string, comma byte) (field, rest string, end bool) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '"')
		if i < 0 {
			return shortField(text), "", true
		}
		at += i + 1
		switch behind := text[at:]; {
		case behind == "":
			return shortField(text[:at-1]), "", true
		case behind[0] == '"':
			at++
		case behind[0] == comma:
			return shortField(text[:at-1]), behind[1:], false
		case behind[0] == '\n':
			return shortField(text[:at-1]), behind[1:], true
		case strings.HasPrefix(behind, "\r\n"):
			return shortField(text[:at-1]), behind[2:], true
		}
	}
}

// shortField takes the escapes out of a field, of which only the beginning is kept.
func shortField(text string) string {
	return strings.ReplaceAll(text[:min(len(text), nameMost)], `""`, `"`)
}

package dialect

import (
	"strings"

	"nod/chat/markdown"
)

// Sheet is a piece of a page: lines of text, or code. What is code was written by
// anybody, so it is cut first and fenced then, and no parser has a say in where
// it ends.
type Sheet struct {
	Text string
	Lang string
	Code bool
}

// draw writes a piece of the sheet as it is shown.
func (s Sheet) draw(piece string) string {
	if s.Code {
		return Fence(s.Lang, piece)
	}
	return piece
}

// leastPiece is how much room there has to be on a page to begin what goes on on
// the next.
const leastPiece = 200

// Paged lays sheets on pages of at most so many units.
func Paged(sheets []Sheet, most int) []string {
	var pages []string
	page := ""
	turn := func() {
		if page != "" {
			pages = append(pages, page)
		}
		page = ""
	}
	for _, s := range sheets {
		rest := s.Text
		if s.Code {
			rest = unfenced(rest)
		}
		for first := true; first || rest != ""; first = false {
			gap := ""
			if page != "" {
				gap = map[bool]string{true: "\n", false: "\n\n"}[s.Code]
			}
			room := most - markdown.UTF16(page) - markdown.UTF16(gap) - (markdown.UTF16(s.draw("x")) - 1)
			if page != "" && !fits(rest, room) && (room < leastPiece || fits(rest, most/4)) {
				turn()
				continue
			}
			piece, left := cutLines(rest, room)
			page += gap + s.draw(piece)
			if rest = left; rest != "" {
				turn()
			}
		}
	}
	turn()
	return pages
}

// fits says whether a text has at most so many units. It looks at no more of it than
// that.
func fits(text string, most int) bool {
	return most >= 0 && len(markdown.Head(text, most)) == len(text)
}

// cutLines cuts a text after as many lines as fit, or within one that doesn't fit
// alone.
func cutLines(text string, most int) (piece, rest string) {
	if piece = markdown.Head(text, most); len(piece) == len(text) {
		return text, ""
	}
	if i := strings.LastIndexByte(piece, '\n'); i > 0 {
		return text[:i], text[i+1:]
	}
	return piece, text[len(piece):]
}

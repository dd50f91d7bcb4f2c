package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text is cut into pieces before it is encoded, and no token crosses the end of a
// piece. OpenAI publishes a regular expression for the pieces. These functions are the
// expression written out: every prompt goes through them, and a regexp engine takes many
// times as long.
//
// Each gives the length of its piece at the start of a text; 0: there is none.

// endPiece ends a piece of
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func endPiece(text string) int {
	first := lead(text)
	end := after(text, first, word)
	if end == 0 { // a mark may lead a word, and may be of one
		end = word(text)
	}
	if end == 0 {
		end = after(text, first, func(s string) int { return runLength(s, isUpper) })
	}
	if end > 0 {
		return end + contraction(text[end:])
	}
	return endNonWord(text)
}

// after ends the part behind the first bytes of a text.
func after(text string, first int, end func(string) int) int {
	if n := end(text[first:]); n > 0 {
		return first + n
	}
	return 0
}

// run ends a run of letters of a kind.
func runLength(text string, is func(rune) bool) int {
	for i, r := range text {
		if !is(r) {
			return i
		}
	}
	return len(text)
}

// lead ends the one character that may lead a word.
func lead(text string) int {
	r, size := utf8.DecodeRuneInString(text)
	if r == '\r' || r == '\n' || unicode.IsLetter(r) || unicode.IsNumber(r) {
		return 0
	}
	return size
}

// isUpper and isLower tell letters by where they may stand in a word; those of
// scripts without cases are both.
func isUpper(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'A' && r <= 'Z'
	}
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func isLower(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z'
	}
	return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
}

// word ends as many upper ones as leave a lower one, and the lower ones behind them.
func word(text string) int {
	upper := runLength(text, isUpper)
	if lower := runLength(text[upper:], isLower); lower > 0 {
		return upper + lower
	}
	for upper > 0 { // the last of them that is both
		r, size := utf8.DecodeLastRuneInString(text[:upper])
		if isLower(r) {
			return upper
		}
		upper -= size
	}
	return 0
}

// contraction ends 's, 't, 're, 've, 'm, 'll and 'd, in any case.
func contraction(text string) int {
	if !strings.HasPrefix(text, "'") {
		return 0
	}
	for _, tail := range []string{"s", "t", "re", "ve", "m", "ll", "d", "ſ"} {
		if end := 1 + len(tail); len(text) >= end && strings.EqualFold(text[1:end], tail) {
			return end
		}
	}
	return 0
}

// endNonWord ends a piece that is no word: up to three digits, signs with the line ends
// behind them, or space. Of space before something else it leaves the last character,
// since that leads the next piece.
func endNonWord(text string) int {
	if end := digits(text); end > 0 {
		return end
	}
	blank := len(text) - len(strings.TrimPrefix(text, " "))
	if end := after(text, blank, func(s string) int { return runLength(s, isSign) }); end > 0 {
		return end + len(text[end:]) - len(strings.TrimLeft(text[end:], "\r\n/"))
	}
	space := runLength(text, unicode.IsSpace)
	if line := strings.LastIndexAny(text[:space], "\r\n"); line >= 0 {
		return line + 1
	}
	_, last := utf8.DecodeLastRuneInString(text[:space])
	if space == len(text) || space == last {
		return space
	}
	return space - last
}

func digits(text string) int {
	end := 0
	for range 3 {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsNumber(r) {
			break
		}
		end += size
	}
	return end
}

func isSign(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) }

package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Exact shows a text for approval, so that people see all of it and nothing else. It
// writes some characters as JSON escapes: those that are invisible, turn the direction
// of text, control a terminal, or pass for another character. For JSON the result means
// the same.
//
// Passing for another character is a matter of degree. Exact escapes forms of ASCII
// characters (full width, mathematical, small), combining marks of the Latin script,
// foreign letters in a word with Latin ones, and words made only of letters that look
// Latin. It leaves words that readers of their script read as words.
func Exact(text string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(strings.ToValidUTF8(text, "\uFFFD"), `"`) {
		exactPart(&b, part)
	}
	return b.String()
}

// Visible is the same for texts that people only read, such as thoughts and results: it
// escapes hiding characters, and leaves emoji, spaces and letters alone.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != '\u2028' && r != '\u2029' {
			b.WriteRune(r)
		} else {
			writeOut(&b, r)
		}
	}
	return b.String()
}

// exactPart shows the text between two quotes, word by word.
func exactPart(b *strings.Builder, part string) {
	posing := poses(part)
	var word []rune
	flush := func() {
		mixed := mixes(word)
		for _, r := range word {
			if !plainly(r) || mixed && foreign(r) || posing && lookalikes[r] {
				writeOut(b, r)
			} else {
				b.WriteRune(r)
			}
		}
		word = word[:0]
	}
	for _, r := range part {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			word = append(word, r)
			continue
		}
		flush()
		if plainly(r) {
			b.WriteRune(r)
		} else {
			writeOut(b, r)
		}
	}
	flush()
}

// writeOut writes a character as JSON does.
func writeOut(b *strings.Builder, r rune) {
	if r > 0xFFFF {
		hi, lo := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// plainly says whether a character always looks like itself.
func plainly(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7F:
		return true
	case !unicode.IsPrint(r), r == '\u2800', unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false
	}
	return !unicode.Is(forms, r)
}

// forms are other forms of ASCII characters, and combining marks.
var forms = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x01C0, 0x01C3, 1},
		{0x0251, 0x0251, 1},
		{0x0261, 0x0261, 1},
		{0x026A, 0x026A, 1}, // letters that look like | ! a g i
		{0x02B0, 0x036F, 1}, // modifiers, and combining marks
		{0x037E, 0x037E, 1},
		{0x0387, 0x0387, 1},
		{0x0589, 0x0589, 1},
		{0x05C0, 0x05C0, 1},
		{0x05C3, 0x05C3, 1}, // that look like ; · : | :
		{0x1AB0, 0x1AFF, 1},
		{0x1D00, 0x1DFF, 1}, // small capitals and modifiers, combining marks
		{0x2010, 0x2011, 1},
		{0x2024, 0x2024, 1},
		{0x2032, 0x2037, 1},
		{0x2043, 0x2044, 1},
		{0x204E, 0x204F, 1}, // - . ' - / * ;
		{0x2070, 0x209F, 1},
		{0x20D0, 0x20FF, 1}, // raised and lowered digits, combining marks
		{0x2100, 0x2115, 1},
		{0x2117, 0x2121, 1},
		{0x2123, 0x2149, 1},
		{0x2160, 0x2188, 1}, // letters as signs, Roman numbers
		{0x2212, 0x2212, 1},
		{0x2215, 0x2217, 1},
		{0x2223, 0x2223, 1},
		{0x2236, 0x2236, 1},
		{0x223C, 0x223C, 1}, // - / \ * | : ~
		{0x2460, 0x24FF, 1},
		{0x2571, 0x2572, 1},
		{0x29F5, 0x29F9, 1},
		{0x2D40, 0x2D4F, 1},
		{0xA4D0, 0xA4FF, 1},
		{0xA720, 0xA721, 1},
		{0xA788, 0xA78C, 1}, // letters that are all taken from Latin; : and others
		{0xFB00, 0xFB06, 1},
		{0xFE10, 0xFE6F, 1},
		{0xFF01, 0xFF5E, 1},
		{0xFFE0, 0xFFEE, 1}, // ligatures, small and wide forms
	},
	R32: []unicode.Range32{{0x1D400, 0x1D7FF, 1}, {0x1F100, 0x1F1AD, 1}, {0x1FBF0, 0x1FBF9, 1}},
}

// near are scripts that people write beside Latin without a space, and that have
// no letters like its.
var near = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul}

// foreign says whether a letter is of a script that is not written within a word
// of Latin letters.
func foreign(r rune) bool {
	return r > 0x7F && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && !unicode.IsOneOf(near, r) && r != 'ª' && r != 'º' && r != 'µ'
}

// mixes says whether a word has letters of Latin and of a foreign script.
func mixes(word []rune) bool {
	latin, others := false, false
	for _, r := range word {
		latin = latin || unicode.Is(unicode.Latin, r)
		others = others || foreign(r)
	}
	return latin && others
}

// poses says whether all letters of scripts that have some in common with Latin
// are such letters: then nothing shows that it is no Latin.
func poses(part string) bool {
	found := false
	for _, r := range part {
		switch {
		case lookalikes[r]:
			found = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
			return false
		}
	}
	return found
}

// lookalikes are letters that can't be told from Latin ones.
var lookalikes = func() map[rune]bool {
	all := map[rune]bool{}
	const cyrillic, greek, others = "аесорхуіјѕһԁԛԝӏѵүАВЕЅІЈКМНОРСТХУҮЗӀԌԚԜ", "οονιρυακχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳϹ", "օոսհցզՍՕլᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ"
	for _, r := range cyrillic + greek + others {
		all[r] = true
	}
	return all
}()

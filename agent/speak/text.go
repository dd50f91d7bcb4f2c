package speak

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Clip cuts the middle out of a text that would cost more than n tokens even
// at a token a byte (0: no limit), and never cuts a character in two.
func Clip(text string, n int) string {
	const mark = " […] "
	if n <= 0 || len(text) <= n {
		return text
	}
	room := max(0, n-len(mark))
	head, tail := room*2/3, len(text)-room/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + mark + text[tail:]
}

// Fence puts text into a code block that it can't break out of.
func Fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + "\n" + marks
}

// Wrap puts text that is no JSON object inside of one, which is all that a
// provider takes as the arguments of an earlier call.
func Wrap(text string) string {
	raw, err := json.Marshal(map[string]string{"malformed": text})
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// malformed is what the model wrote where arguments should have been; see
// [Wrap].
func malformed(text string) string {
	var fields map[string]string
	if json.Unmarshal([]byte(text), &fields) != nil || len(fields) != 1 {
		return text
	}
	return fields["malformed"]
}

// Unfenced closes a block of code that a text leaves open, so that what follows
// is no part of it.
func Unfenced(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		run := line[:len(line)-len(strings.TrimLeft(line, "`~"))]
		switch {
		case len(run) < 3 || strings.Trim(run, run[:1]) != "":
		case open == "":
			open = run
		case strings.HasPrefix(run, open) && run == line:
			open = ""
		}
	}
	if open == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + "\n" + open
}

// Package phrase holds the short texts that several rooms say: names that others chose,
// durations, a call and its outcome in a few words.
package phrase

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"nod/agent/speak"
	"nod/chat"
)

// OneLine is a text without line breaks.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, unicode.IsSpace) { // as most names
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// Brief is a name that strangers chose, as it stands in a sentence: visible as a whole,
// and not too long for a card.
func Brief(name string) string { return speak.Clip(chat.Exact(OneLine(name)), mostBrief) }

const mostBrief = 60

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// FirstSentence is the first sentence of a description.
func FirstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i+1]
	}
	return line
}

// Plural is a word in its number.
func Plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// Seconds is a duration as people say it.
func Seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return "0.1 s"
	case d < time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// Long is a duration of minutes or hours as people say it.
func Long(d time.Duration) string {
	if d = max(d, 0).Truncate(time.Second); d >= time.Hour {
		text := fmt.Sprintf("%d h", int(d.Hours()))
		if min := int(d.Minutes()) % 60; min > 0 {
			text += fmt.Sprintf(" %d min", min)
		}
		return text
	}
	return strings.TrimSuffix(Seconds(d), " 0 s")
}

// Code shows arguments, which the model wrote, as code.
func Code(text string) string {
	if text = chat.Exact(text); len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// FileNames lists the names of files.
func FileNames(files []chat.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

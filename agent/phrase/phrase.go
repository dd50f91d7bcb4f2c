// Package phrase holds the short texts that several rooms say: names that others chose,
// durations, a call and its outcome in a few words.
package phrase

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"nod/agent/speak"
	"nod/agent/thread"
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

// Name is a person's name in a sentence of Markdown: it is no link and no other markup.
func Name(u chat.User) string { return literal.Replace(Brief(u.Display())) }

// Names lists people by name, in a sentence of Markdown.
func Names(users []chat.User) string {
	var names []string
	for _, u := range users {
		names = append(names, Name(u))
	}
	return strings.Join(names, ", ")
}

var literal = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "~", `\~`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "|", `\|`)

// FirstSentence is the first sentence of a description.
func FirstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(line, ". "); i >= 0 {
		line = line[:i+1]
	}
	return line
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// FileNames lists the names of files.
func FileNames(files []chat.File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
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

// ShortArgs is the arguments of a call, as they stand in a sentence.
func ShortArgs(c *thread.Call) string { return speak.Clip(chat.Exact(c.Shown()), mostOfNamed) }

// Bounds of what is named in words: how many calls, and how long the arguments are.
const (
	mostNamed   = 8
	mostOfNamed = 200
)

// WhatRan lists calls with their outcomes.
func WhatRan(calls []*thread.Call) string {
	var out []string
	for i, c := range calls {
		if i == mostNamed {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		what := "outcome unknown"
		if c.Result != nil {
			what = Fate(c)
		}
		out = append(out, Brief(c.Tool)+" "+ShortArgs(c)+" ("+what+")")
	}
	return strings.Join(out, "; ")
}

// Fate is the outcome of an approved call, in a few words.
func Fate(c *thread.Call) string {
	r := c.Result
	if c.Run.Late != nil {
		r = c.Run.Late
	}
	switch {
	case r == nil:
		return "running"
	case r.State == chat.CallDone:
		return "done in " + Seconds(r.Took)
	case r.State == chat.CallDenied:
		return speak.Clip(OneLine(firstLine(r.Text)), mostFate)
	case r.State == chat.CallFailed:
		return "failed: " + speak.Clip(OneLine(firstLine(r.Text)), mostFate)
	}
	return string(r.State)
}

// Why says why an approved call did not begin, in a few words; "" where a person ended it.
func Why(c *thread.Call) string {
	r := c.Result
	if r.State == chat.CallCancelled {
		return ""
	}
	return speak.Clip(OneLine(strings.TrimPrefix(firstLine(r.Text), "denied: ")), mostFate)
}

// mostFate is how much of a failure a card's first line says, in bytes.
const mostFate = 100

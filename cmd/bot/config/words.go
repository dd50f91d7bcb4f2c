package config

import (
	"cmp"
	"slices"
	"strings"

	"nod/edits"
)

type (
	// Protocol is how the model speaks of thoughts and actions.
	Protocol string
	// Strategy is how a turn is thought through.
	Strategy string
	// Images says whether the model takes images.
	Images string
	// Exclude names the people that an approval excludes.
	Exclude string
	// Way is how an approval is given.
	Way string
	// Factor is a second factor of those who approve.
	Factor string
	// Find says when the model searches for tools.
	Find string
	// Level is the least level of the log.
	Level string
	// Taint is the rule for calls while the prompt holds content from outside.
	Taint string
	// Follow says which messages of a thread are for the bot.
	Follow string
	// DiscordFollow is Follow, where auto depends on the app's intents.
	DiscordFollow string
	// Trust limits people from outside.
	Trust string
	// DM is the thread that a direct message opens.
	DM string
)

// The words on which something hangs here; Allowed lists all that the file may use.
const (
	ProtocolTools    Protocol = "tools"
	ProtocolReact    Protocol = "react"
	ProtocolNumbered Protocol = "numbered"

	ImagesNo Images = "false"

	ExcludeNobody Exclude = "false"
	ExcludeTurn   Exclude = "true"   // whose message is in the turn
	ExcludeThread Exclude = "thread" // whose message the model is shown

	FindNever  Find = "never"
	FindAlways Find = "always"

	FactorCode Factor = "code"

	TaintAsk Taint = "ask"

	FollowAuto DiscordFollow = "auto"

	DMFlat DM = "flat"
)

// word is a type of which the file may use only some values.
type word interface{ Allowed() []string }

func (Protocol) Allowed() []string { return []string{"tools", "react", "numbered"} }
func (Strategy) Allowed() []string { return []string{"react", "plan", "reflexion", "branch"} }
func (Images) Allowed() []string   { return []string{"auto", "true", "false"} }
func (Way) Allowed() []string      { return []string{"reaction", "button", "word"} }
func (Factor) Allowed() []string   { return []string{"none", "code"} }
func (Find) Allowed() []string     { return []string{"auto", "always", "never"} }
func (Exclude) Allowed() []string  { return []string{"false", "true", "thread"} }
func (Taint) Allowed() []string    { return []string{"ask", "off"} }
func (Level) Allowed() []string    { return []string{"debug", "info", "warn", "error"} }
func (Follow) Allowed() []string   { return []string{"callers", "thread", "mentions"} }
func (DiscordFollow) Allowed() []string {
	return []string{"auto", "callers", "thread", "mentions"}
}
func (Trust) Allowed() []string { return []string{"ignore", "ask", "allow"} }
func (DM) Allowed() []string    { return []string{"thread", "flat"} }

// choices writes a list of words as a person would: a, b or c.
func choices(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// nearest gives the word that somebody most likely meant, or nothing when none
// is near.
func nearest(written string, known []string) string {
	if written == "" || len(written) > 64 || len(known) == 0 {
		return ""
	}
	written = strings.ToLower(strings.ReplaceAll(written, "-", "_"))
	best := slices.MinFunc(known, func(a, b string) int {
		return cmp.Compare(edits.Letters(written, a), edits.Letters(written, b))
	})
	if edits.Letters(written, best) > max(1, len(best)/3) {
		return ""
	}
	return best
}

// didYouMean is the end of a message about a word that is not known.
func didYouMean(written string, known []string) string {
	if n := nearest(written, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

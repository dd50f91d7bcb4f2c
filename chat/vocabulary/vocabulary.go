// Package vocabulary is the table of the words that people can say to nod. A word counts
// where it stands alone in a message. The table says how a word is written, how help
// explains it, and how a platform with commands of its own offers it. What a word
// does is not known here: that is agent's.
package vocabulary

import (
	"strconv"
	"strings"
)

// Takes is the argument of a word.
type Takes int

// The kinds of text that can stand behind a word.
const (
	Nothing Takes = iota
	File          // the name of a file, which may have spaces
	Tool          // the name of a tool
	Number        // of a grant, a schedule or a fact
	Terms         // of a grant; its reader judges them
	Model         // the name of a model, or nothing
	Fact          // a text to be kept, behind a colon; its reader parses it
	Skill         // the name of a skill
)

// Word is a line of the table.
type Word struct {
	Name  string // in lower case; empty: the line only explains something else, such as a reaction
	Takes Takes
	// Help is its line in help, in Markdown; empty where the line of another word
	// explains it too.
	Help string
	// Command is how a platform describes it as one of its commands; empty where it is
	// none.
	Command string
	// Public says that everybody sees the answer to the command.
	Public bool
}

// Table has all words, in the order of help.
var Table = []Word{
	{Name: "stop", Help: "`stop` (or 🛑 on a message of the turn): end what is running", Command: "Stop what nod is doing in this conversation"},
	{Help: "`y`, `n` (`n 2 and why`), with the number of the approval while several wait: decide by word instead of by reaction"},
	{Help: "`edit 2 {…}`, by who asked or may approve: change the arguments of a call that waits"},
	{Help: "`run NAME {…}`: run a tool yourself; it is checked and asked for as if I had called it"},
	{Help: "`run 2 {…}`, or *Edit and run again* in the opened steps: run the second call of the last steps again, with other arguments; I answer anew from there"},
	{Name: "forget", Help: "`forget`: erase what I remember of this thread", Command: "Erase nod's memory of this conversation", Public: true},
	{Name: "memory", Help: "`memory`: what I see of this thread right now", Command: "What nod sees of this conversation right now"},
	{Name: "steps", Help: "`steps`: the last turn's steps in full", Command: "The steps of the last turn, in full"},
	{Name: "artifacts", Help: "`artifacts`, `drop NAME`: what this thread holds; take one from what I see", Command: "The files that this conversation holds"},
	{Name: "drop", Takes: File, Command: "Take a file out of what nod sees"},
	{Name: "tools off", Takes: Tool, Help: "`tools off NAME`, `tools on NAME`: switch a tool off in this thread, and on again", Command: "Switch a tool off in this conversation, or on again"},
	{Name: "tools on", Takes: Tool},
	{Name: "model", Takes: Model, Help: "`model`: which model answers here, and why; `model NAME`: another one for this thread; `model default` takes that back", Command: "Which model answers here, or choose one by name"},
	{Name: "skills", Help: "`skills`: what I can read up on here; `use NAME`: I read one, for the next turn", Command: "What nod can read up on here"},
	{Name: "use", Takes: Skill, Command: "Have nod read a skill, for the next turn", Public: true},
	{Name: "waiting", Help: "`waiting`: the approvals that you may decide now, each with a link", Command: "The approvals that you may decide now"},
	{Name: "schedules", Help: "`every weekday 09:00: …`, `in 2h: …`, `remind tomorrow 9:00: …`: ask me later, or be reminded; `schedules` lists that, `unschedule N` ends one, `resume N` takes up a paused one", Command: "What is scheduled in this conversation"},
	{Name: "unschedule", Takes: Number, Command: "End a schedule of this conversation"},
	{Name: "resume", Takes: Number, Command: "Take up a paused schedule of this conversation"},
	{Name: "facts", Help: "`remember: …`: write a fact down for all threads of this channel; `facts` lists them, `forget fact N` forgets one", Command: "What people wrote down in this channel"},
	{Name: "remember", Takes: Fact, Command: "Write a fact down for all threads of this channel", Public: true},
	{Name: "forget fact", Takes: Number},
	{Name: "alerts", Help: "`alerts`: the incidents of this channel that were held back", Command: "The incidents of this channel that were held back"},
	{Name: "mute", Help: "`mute` (or 🔇 on a message of mine), `unmute`: answer here only when I am mentioned; follow the thread again"},
	{Name: "unmute"},
	{Name: "recap", Help: "`recap`: bring back what this thread was about, after a long silence"},
	{Name: "allow", Takes: Terms, Help: "`allow 1 1h`, `allow 1 5x`: approve, and allow the same call again in this thread; `grants` lists that, `revoke N` ends it"},
	{Name: "grants", Command: "What has been allowed here for a while"},
	{Name: "revoke", Takes: Number},
	{Help: "`plan: …` before a question: I make a plan first; `think harder: …`: I make several drafts first"},
	{Help: "🔄 on my last answer, by who asked: I try again"},
	{Help: "👍 👎 on an answer: kept with the turn; with 👎 I ask you what was wrong"},
	{Name: "help", Help: "`help`: this list", Command: "What nod can do here"},
}

// longest is the longest word with its argument, in bytes.
const longest = 300

// Parse reads a text that is only a word, in any letter case. Nearly no text is one, and
// every reading of a log comes by: so how the text begins decides, at no cost.
func Parse(text string) (name, arg string, ok bool) {
	if text = strings.TrimSpace(text); len(text) > longest {
		return "", "", false
	}
	for _, w := range Table {
		begin, _, _ := strings.Cut(w.Name, " ")
		if begin == "" || len(text) < len(begin) || !strings.EqualFold(text[:len(begin)], begin) {
			continue
		}
		if arg, ok = w.read(text); ok {
			return w.Name, arg, true
		}
	}
	return "", "", false
}

// read says whether a text is this word, and returns its argument.
func (w Word) read(text string) (arg string, ok bool) {
	if w.Takes == Fact {
		return "", false
	}
	if w.Takes == Nothing {
		return "", strings.ToLower(text) == w.Name
	}
	if w.Takes == Model && strings.EqualFold(text, w.Name) {
		return "", true
	}
	fields, n := strings.Fields(text), len(strings.Fields(w.Name))
	if len(fields) <= n || strings.ToLower(strings.Join(fields[:n], " ")) != w.Name {
		return "", false
	}
	arg = strings.Join(fields[n:], " ")
	if w.Takes == Terms {
		return arg, true
	}
	arg = strings.Trim(arg, "`")
	_, err := strconv.Atoi(arg)
	return arg, arg != "" && (w.Takes == File || len(fields) == n+1) && (w.Takes != Number || err == nil)
}

// Facts reads a text that is a word about facts: `remember: TEXT`, or `forget` with
// something behind it that is no fact.
func Facts(text string) (name, arg string, ok bool) {
	text = strings.TrimSpace(text)
	begin := func(word string) (string, bool) {
		if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
			return "", false
		}
		return strings.TrimSpace(text[len(word):]), true
	}
	if arg, ok := begin("remember:"); ok {
		return "remember", arg, true
	}
	if arg, ok := begin("forget "); ok && arg != "" {
		_, _, known := Parse(text)
		return "forget what", arg, !known
	}
	return "", "", false
}

// Package commands holds the commands that people can give on Discord besides writing to
// the bot, and makes them known there.
package commands

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat/outbox"
	"nod/chat/vocabulary"
)

// Command is an application command
// (https://discord.com/developers/docs/interactions/application-commands).
type Command struct {
	Name        string   `json:"name"`
	Type        int      `json:"type"`
	Description string   `json:"description"`
	Options     []option `json:"options,omitempty"`
	Contexts    []int    `json:"contexts"`
	Installs    []int    `json:"integration_types"`
}

type option struct {
	Type        int      `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Required    bool     `json:"required,omitempty"`
	MaxLength   int      `json:"max_length,omitempty"`
	Choices     []Choice `json:"choices,omitempty"`
	Completed   bool     `json:"autocomplete,omitempty"`
}

// Choice is a text that is suggested for an option.
type Choice struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const (
	chatCommand      = 1
	messageCommand   = 3
	stringOption     = 3
	attachmentOption = 11
	mostAsked        = 1900 // characters of a question, which is shown in a message
)

// AskAbout is the command on a message.
const AskAbout = "Ask nod about this"

// Where a command may be given, and how the bot may have come there.
const (
	serverContext  = 0 // in a server,
	directContext  = 1 // and in the direct conversation with the bot
	PrivateContext = 2 // not in one of other people, where the bot is not
	ServerInstall  = 0 // not with an app that a person installed for themselves
)

// List is what people can give besides writing to the bot.
var List = everywhere(slices.Concat([]Command{
	{Name: "ask", Description: "Ask nod something", Options: []option{
		{Type: stringOption, Name: "question", Description: "What you want to know, or to have done", Required: true, MaxLength: mostAsked},
		{Type: attachmentOption, Name: "file", Description: "A file that goes along"},
		{Type: attachmentOption, Name: "file2", Description: "Another file"},
		{Type: attachmentOption, Name: "file3", Description: "One more file"},
	}},
	{Name: AskAbout, Type: messageCommand},
}, wordCommands()))

// wordCommands are the words that people can say and that are commands too. Two words
// that begin alike, such as "tools off" and "tools on", are one command with a switch.
func wordCommands() (list []Command) {
	for _, w := range vocabulary.Table {
		if w.Command == "" {
			continue
		}
		name, switched, _ := strings.Cut(w.Name, " ")
		c := Command{Name: name, Description: w.Command}
		if switched != "" {
			c.Options = append(c.Options, switchOption(name))
		}
		if name == "forget" {
			c.Options = append(c.Options, option{Type: stringOption, Name: "fact", Description: "Only this fact: its number, as `facts` shows it", MaxLength: 9})
		}
		switch w.Takes {
		case vocabulary.File:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The file's name", Required: true, MaxLength: 200, Completed: true})
		case vocabulary.Fact:
			c.Options = append(c.Options, option{Type: stringOption, Name: "text", Description: "The fact, in your words", Required: true, MaxLength: mostAsked})
		case vocabulary.Number:
			c.Options = append(c.Options, option{Type: stringOption, Name: "number", Description: "Its number, as `schedules` shows it", Required: true, MaxLength: 9})
		case vocabulary.Model:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The model's name, or default", MaxLength: 100})
		case vocabulary.Skill:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The skill's name", Required: true, MaxLength: 64})
		case vocabulary.Tool:
			c.Options = append(c.Options, option{Type: stringOption, Name: "name", Description: "The tool's name", Required: true, MaxLength: 100, Completed: true})
		}
		list = append(list, c)
	}
	return list
}

// switchOption chooses among the words that begin with a name.
func switchOption(name string) option {
	var choices []Choice
	var texts []string
	for _, w := range vocabulary.Table {
		if text, ok := strings.CutPrefix(w.Name, name+" "); ok {
			choices, texts = append(choices, Choice{text, text}), append(texts, text)
		}
	}
	return option{Type: stringOption, Name: "switch", Description: strings.Join(texts, " or "), Required: true, Choices: choices}
}

// everywhere sets where commands may be given: where the bot is, and so hears what
// follows.
func everywhere(list []Command) []Command {
	for i := range list {
		list[i].Type = max(list[i].Type, chatCommand)
		list[i].Contexts, list[i].Installs = []int{serverContext, directContext}, []int{ServerInstall}
	}
	return list
}

// Register makes the commands known, unless they are already: changing them counts
// against a limit of the day.
func Register(ctx context.Context, rest *api.Client, app string) error {
	there, err := api.Get[[]Command](ctx, rest, outbox.Low, "/applications/{}/commands", app)
	if err != nil || reflect.DeepEqual(sorted(there), sorted(List)) {
		return err
	}
	return rest.Call(ctx, api.Request{Method: "PUT", Path: "/applications/{}/commands", IDs: []string{app}, Body: List, Priority: outbox.Low})
}

func sorted(list []Command) []Command {
	list = slices.Clone(list)
	for i := range list {
		list[i].Type = max(list[i].Type, chatCommand)
	}
	return slices.SortedFunc(slices.Values(list), func(x, y Command) int { return strings.Compare(x.Name, y.Name) })
}

// Public says whether everybody sees the answer to a command.
func Public(name string) bool {
	return slices.ContainsFunc(vocabulary.Table, func(w vocabulary.Word) bool { return w.Name == name && w.Public })
}

package config

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"nod/llm/tokens"
	"nod/tools/skill"
)

// rooms checks what is different in some channels.
func (k *checker) rooms() {
	taken := map[string]string{}
	for i, r := range k.c.Rooms {
		key := item("channels", i)
		for j, place := range r.In {
			at, platform := item(key+".in", j), strings.Split(place, ":")[0]
			switch {
			case taken[place] != "":
				k.at(at, "is in %s already; a channel has one room", taken[place])
			case platform == "slack" && k.c.Slack == nil || platform == "discord" && k.c.Discord == nil:
				k.at(at, "is on a platform whose section is absent; write that, or remove this")
			}
			taken[place] = key
		}
		if _, known := k.c.Models[r.Model]; r.Model != "" && !known {
			k.at(key+".model", "is no name of models%s", didYouMean(r.Model, slices.Sorted(maps.Keys(k.c.Models))))
		}
		if r.InstructionsFile != "" && r.Instructions != "" {
			k.at(key+".instructions_file", "stands beside instructions; write one of the two")
		}
		k.roomTools(key+".tools", r.Tools)
		k.narrower(i)
	}
}

// roomTools refuses a pattern of which no tool can be. Servers tell theirs at the start.
func (k *checker) roomTools(key string, patterns []string) {
	var names []string
	for _, t := range k.c.Builtins() {
		names = append(names, t.Name)
	}
	for _, t := range k.c.Tools.Commands {
		names = append(names, t.Name)
	}
	if k.c.Slack != nil && k.c.Slack.Search {
		names = append(names, "team_search")
	}
	for i, pattern := range patterns {
		if len(k.c.Tools.MCP) == 0 && !slices.ContainsFunc(names, func(name string) bool { return matches(pattern, name) }) {
			k.at(item(key, i), "is no tool that is on%s", didYouMean(pattern, names))
		}
	}
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// Has says whether a tool of the team is there.
func (r Room) Has(tool string) bool {
	return r.Tools == nil || slices.ContainsFunc(r.Tools, func(pattern string) bool { return matches(pattern, tool) })
}

// readRooms reads the instructions that stand in files.
func (c *Config) readRooms(r *report, lenient bool) {
	const most = 64 << 10
	for i := range c.Rooms {
		room := &c.Rooms[i]
		if room.InstructionsFile == "" {
			continue
		}
		text, err := readFile(room.InstructionsFile, most)
		if err != nil && !lenient {
			r.at(item("channels", i)+".instructions_file", "can't be read, or is larger than 64 KiB: %s", filepath.Base(room.InstructionsFile))
		}
		room.Instructions = string(text)
	}
}

// Shelf is the skills of the file, as they were when it was loaded.
func (c *Config) Shelf() []skill.Skill { return c.shelf }

// readSkills reads the folder of skills, and checks the rooms' names of them.
func (c *Config) readSkills(r *report) {
	var mistakes []error
	if c.Skills != "" {
		c.shelf, mistakes = skill.Read(c.Skills)
	}
	for _, m := range mistakes {
		r.add(r.line("skills"), "skills", "%v", m)
	}
	var names []string
	count, most := tokens.New(c.LLM.Model).Count, c.Memory.BudgetTokens/4
	for _, s := range c.shelf {
		names = append(names, s.Name)
		if n := count(s.Text); n > most {
			r.add(r.line("skills"), "skills", "%s: has %d tokens, and a quarter of memory.budget_tokens is %d; make it shorter, or that larger", s.Path, n, most)
		}
	}
	for i, room := range c.Rooms {
		for j, name := range room.Skills {
			if key := item(item("channels", i)+".skills", j); !slices.Contains(names, name) {
				r.at(key, "is the name of no skill%s", didYouMean(name, names))
			}
		}
	}
}

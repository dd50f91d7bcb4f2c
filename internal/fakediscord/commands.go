package fakediscord

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// commandName matches names of slash commands and their options:
// https://discord.com/developers/docs/interactions/application-commands
var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

// mostCommands is how many global slash commands there may be.
const mostCommands = 100

func (s *Server) appOf(q *request) *apiError {
	if q.PathValue("app") != s.app.id {
		return refusal(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	}
	return nil
}

func (s *Server) getCommands(q *request) (any, *apiError) {
	return list(s.commands), s.appOf(q)
}

// putCommands replaces all commands. One that stays keeps its id.
func (s *Server) putCommands(q *request) (any, *apiError) {
	var body []object
	if bad := s.appOf(q); bad != nil {
		return nil, bad
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	f := &form{}
	if len(body) > mostCommands {
		f.fail("commands", "APPLICATION_COMMANDS_MAX_REACHED", "Maximum number of application commands reached (100).")
	}
	names := map[string]bool{}
	for i, c := range body {
		f.command(fmt.Sprint(i), c)
		name, _ := c["name"].(string)
		if names[name] {
			f.fail(fmt.Sprint(i), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		names[name] = true
	}
	if f.bad != nil {
		return nil, f.bad
	}
	var kept []object
	for _, c := range body {
		kept = append(kept, s.registered(c))
	}
	s.commands = kept
	return list(s.commands), nil
}

// postCommand adds a command, or replaces the one of the same name.
func (s *Server) postCommand(q *request) (any, *apiError) {
	var body object
	if bad := s.appOf(q); bad != nil {
		return nil, bad
	}
	if bad := q.decode(&body); bad != nil {
		return nil, bad
	}
	f := &form{}
	f.command("command", body)
	if f.bad != nil {
		return nil, f.bad
	}
	before := s.command(body["name"])
	made := s.registered(body)
	if before == nil {
		q.status = http.StatusCreated
		s.commands = append(s.commands, made)
		return made, nil
	}
	at := slices.IndexFunc(s.commands, func(c object) bool { return c["id"] == before["id"] })
	s.commands[at] = made
	return made, nil
}

// command checks rules that the contract states loosely.
func (f *form) command(at string, c object) {
	name, _ := c["name"].(string)
	kind, _ := c["type"].(float64)
	if kind <= 1 && !commandName.MatchString(name) {
		f.fail(at+".name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
	}
	f.length(at+".name", name, 1, 32)
	description, _ := c["description"].(string)
	if kind <= 1 {
		f.length(at+".description", description, 1, 100)
	}
	options, _ := c["options"].([]any)
	for i, e := range options {
		o, _ := e.(map[string]any)
		name, _ := o["name"].(string)
		if !commandName.MatchString(name) {
			f.fail(fmt.Sprintf("%s.options.%d.name", at, i), "APPLICATION_COMMAND_INVALID_NAME", "Option name is invalid")
		}
		description, _ := o["description"].(string)
		f.length(fmt.Sprintf("%s.options.%d.description", at, i), description, 1, 100)
	}
}

// command finds a registered command by name.
func (w *world) command(name any) object {
	for _, c := range w.commands {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

// registered is a command as Discord gives it back. Fields that are null were
// not given.
func (s *Server) registered(c object) object {
	o := object{
		"id": s.newID(), "application_id": s.app.id, "version": s.newID(), "type": 1, "description": "",
		"default_member_permissions": nil, "dm_permission": true, "nsfw": false,
	}
	if before := s.command(c["name"]); before != nil {
		o["id"] = before["id"]
	}
	c = maps.Clone(c)
	maps.DeleteFunc(c, func(k string, v any) bool { return v == nil || k == "id" })
	maps.Copy(o, c)
	return o
}

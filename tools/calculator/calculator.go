// Package calculator is the tool that calculates exactly: an expression as people
// write it, in decimals that do not wrap or round where nobody sees it, within
// bounds of time and digits. It evaluates arithmetic and nothing else.
package calculator

import (
	"context"
	_ "embed"

	"nod/llm"
	"nod/tools"
)

//go:embed calculator.md
var prose string

const parameters = `{"type":"object","properties":{"expression":{"type":"string","description":"for example (1 + 0.19) * 12.50"}},"required":["expression"],"additionalProperties":false}`

// Keys are the keys of tools.calculator.
type Keys struct{}

// Make makes the calculator. Expressions come from a model that may repeat a stranger's
// text. So their length, their nesting and the size of every number are bounded before
// any computation.
func (Keys) Make(context.Context, tools.Host) (tools.Made, error) {
	t := tools.New("calculator", prose, parameters, run)
	t.Aliases, t.ReadOnly = []string{"calculate", "calc"}, true
	return tools.One(t)
}

func run(ctx context.Context, _ tools.Input, arg struct{ Expression string }) (llm.Result, error) {
	value, err := calculate(ctx, arg.Expression)
	if ctx.Err() != nil {
		return tools.Failed("the calculation was stopped"), context.Cause(ctx)
	}
	if err != nil {
		return tools.Failed("the expression has no result: %v", err), nil
	}
	return llm.Result{Text: value.String()}, nil
}

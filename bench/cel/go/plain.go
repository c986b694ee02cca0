package main

import (
	"context"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// plain is the newest cel-go with its extensions, counting costs and open to interruption.
type plain struct{ env *cel.Env }

func newPlain() plain {
	env, err := cel.NewEnv(
		cel.Variable("object", cel.DynType), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true),
		ext.Strings(), ext.Lists(), ext.Sets(), ext.TwoVarComprehensions(),
	)
	must(err)
	return plain{env}
}

func (p plain) compile(expression string) (func(map[string]any) error, error) {
	ast, issues := p.env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := p.env.Program(ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(1_000_000), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func(object map[string]any) error {
		_, _, err := program.ContextEval(ctx, map[string]any{"object": object})
		return err
	}, nil
}

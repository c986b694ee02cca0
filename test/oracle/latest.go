package main

import (
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// latestBase is the newest cel-go with the newest version of every extension over JSON.
var latestBase = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.OptionalTypes(),
		cel.CrossTypeNumericComparisons(true),
		cel.EnableIdentifierEscapeSyntax(),
		ext.Strings(), ext.Math(), ext.Lists(), ext.Sets(), ext.Encoders(), ext.Bindings(),
		ext.TwoVarComprehensions(), ext.Network(), ext.Regex(),
	)
})

func latestAnswer(request *Request) *Answer {
	env, err := latestEnvironment(request)
	if err != nil {
		return failed("request", err.Error())
	}
	ast, issues := env.Parse(request.Expression)
	if issues.Err() != nil {
		return failed("parse", issues.String())
	}
	answer := &Answer{}
	if !request.DisableCheck {
		if ast, issues = env.Check(ast); issues.Err() != nil {
			return failed("check", issues.String())
		}
		if encoded, err := types.TypeToProto(ast.OutputType()); err == nil {
			static := wireTypeFromProto(encoded)
			answer.Type = &static
		}
	}
	if request.Do == "check" {
		return answer
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		return failed("program", err.Error())
	}
	variables := map[string]any{}
	for name, bound := range request.Bindings {
		encoded, err := bound.proto()
		if err != nil {
			return failed("request", err.Error())
		}
		if variables[name], err = cel.ProtoAsValue(env.CELTypeAdapter(), encoded); err != nil {
			return failed("request", err.Error())
		}
	}
	value, details, err := program.Eval(variables)
	if details != nil {
		answer.Cost = details.ActualCost()
	}
	if err != nil {
		answer.Error = &WireError{Kind: "eval", Message: err.Error()}
		return answer
	}
	answer.Value = wireFromLatest(value)
	return answer
}

func latestEnvironment(request *Request) (*cel.Env, error) {
	env, err := latestBase()
	if err != nil {
		return nil, err
	}
	options := []cel.EnvOption{cel.Container(request.Container)}
	if request.DisableMacros {
		options = append(options, cel.ClearMacros())
	}
	for index := range request.Declarations {
		declared, err := cel.ProtoAsDeclaration(request.Declarations[index].proto())
		if err != nil {
			return nil, err
		}
		options = append(options, declared)
	}
	return env.Extend(options...)
}

/**
 * The page that shows the OpenAPI document: one file without external scripts or styles. It fetches the document with
 * the reader's token.
 */
import { createHash } from 'node:crypto';

const style = `
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{margin:0 auto;max-width:70rem;padding:1rem 1.5rem}
form{display:flex;gap:.5rem;margin:1rem 0}input{flex:1;font:inherit;padding:.4rem}button{font:inherit;padding:.4rem 1rem}
details{border:1px solid #8885;border-radius:.4rem;margin:.4rem 0;padding:.3rem .7rem}
summary{cursor:pointer}summary code{font-size:1rem}
.method{display:inline-block;min-width:4.5rem;font-weight:700}
pre{background:#8881;border-radius:.4rem;overflow:auto;padding:.7rem;max-height:30rem}
table{border-collapse:collapse}td,th{border-bottom:1px solid #8883;padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}
#said{color:#c33}
`;

/** The script inserts the document as text only, so that no markup in it is executed. */
const script = `
const make=(name,text,...within)=>{const node=document.createElement(name);if(text)node.textContent=text;node.append(...within);return node};
const said=document.getElementById('said'),api=document.getElementById('api');
const resolved=(doc,value,depth=0,seen=[])=>{
  if(Array.isArray(value))return value.map(each=>resolved(doc,each,depth,seen));
  if(typeof value!=='object'||value===null)return value;
  if(typeof value.$ref==='string'){const name=value.$ref.split('/').pop();return seen.includes(name)?{'see':name}:resolved(doc,doc.components.schemas[name],depth,[...seen,name])}
  return Object.fromEntries(Object.entries(value).map(([key,each])=>[key,resolved(doc,each,depth+1,seen)]));
};
const schemaOf=(doc,content)=>{const [type,body]=Object.entries(content||{})[0]||[];if(!body)return;
  const view=make('details','',make('summary',type));view.append(make('pre',JSON.stringify(resolved(doc,body.schema),null,2)));return view};
const operation=(doc,path,method,op)=>{
  const head=make('summary');const verb=make('span',method.toUpperCase());verb.className='method';
  head.append(verb,make('code',path),' — '+op.summary);
  const view=make('details','',head,make('p',op.description));
  if(op.parameters&&op.parameters.length){const table=make('table');
    for(const each of op.parameters)table.append(make('tr','',make('td',each.name+(each.required?' *':'')),make('td',each.in),make('td',each.description)));view.append(table)}
  if(op.requestBody)view.append(make('h4','Body'),schemaOf(doc,op.requestBody.content)||'');
  view.append(make('h4','Answers'));
  for(const [code,answer] of Object.entries(op.responses)){view.append(make('div',code+': '+answer.description));
    if(code<300){const schema=schemaOf(doc,answer.content);if(schema)view.append(schema)}}
  return view;
};
const show=doc=>{api.replaceChildren(make('h1',doc.info.title),make('p',doc.info.description));
  for(const tag of doc.tags){api.append(make('h2',tag.name));
    for(const [path,item] of Object.entries(doc.paths))for(const [method,op] of Object.entries(item))if(op.tags[0]===tag.name)api.append(operation(doc,path,method,op))}};
document.querySelector('form').addEventListener('submit',async event=>{event.preventDefault();said.textContent='';
  const answer=await fetch('/openapi.json',{headers:{authorization:'Bearer '+document.getElementById('token').value.trim()}});
  const body=await answer.json();if(answer.ok)show(body);else said.textContent=body.detail||('status '+answer.status)});
`;

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export function docsPage(): { readonly html: string; readonly policy: string } {
  return {
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>kidp operator manager</title>
<style>${style}</style></head><body>
<form><input id="token" type="password" autocomplete="off" placeholder="Your token (JWT): it stays in this page" aria-label="Token" required><button>Show the API</button></form>
<p id="said" role="alert"></p><main id="api"><h1>kidp operator manager</h1><p>Enter a token to show the API.</p></main>
<script>${script}</script></body></html>
`,
    policy: `default-src 'none'; style-src ${hash(style)}; script-src ${hash(script)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

"""English texts of the guided setup in the terminal (`roebot init`, `roebot manifest`)."""

from collections.abc import Mapping

ENGLISH_SETUP: Mapping[str, str] = {
    # Prompts
    "setup_prompt": "{question}: ",
    "setup_default_prompt": "{question} [{default}]: ",
    "setup_yes_or_no": "Enter y or n",
    "setup_ended": "input ended before all questions were answered; nothing was written",
    "setup_stopped": "stopped; nothing was written",
    # The platform
    "setup_platform": "Platform ({names}): ",
    "setup_not_a_platform": "{platform} cannot be set up; choose one of {names}",
    "setup_bad_name": "{name} is not a valid name; use lowercase letters, digits, - and _, starting with a letter",
    "setup_heading": "{title}: complete these steps on the platform before you answer the questions below",
    "setup_manifest": "If the link doesn't work, `roebot manifest {platform}` prints the manifest to paste instead.",
    "setup_create": "Create the app by scanning a QR code with {title}? It gets the permissions and events that the bot needs.",
    "setup_scan": "Scan this code with {title} on your phone, or open the link in a browser, and confirm. It expires in {minutes:.0f} minutes.",
    "setup_open": "Open this link in a browser and confirm. It expires in {minutes:.0f} minutes.",
    "setup_created": "The app was created.",
    "setup_creator": "Its owner is the person who confirmed it: {person}",
    "setup_connecting": "Connecting to the platform…",
    "setup_try_again": "Try again?",
    "setup_gave_up": "{problem}; nothing was written. Fix the problem and start over",
    "setup_identity": "The bot is {identity}.",
    "setup_invite": "Add the bot so that you can write to it:",
    "setup_from_environment": "{key}: using ${variable}",
    # The owner
    "setup_later_steps": "These steps only work while the bot is connected. Complete them after pressing Enter below,\nor while the service is running.",
    "setup_owner": "Who is the bot's owner?\n\n  Enter  identify yourself by sending {identity} a private message now\n  ID     {person}, if you know yours\n  later  the bot sends you a code when you write to it",
    "setup_owner_prompt": "Press Enter, or type your id or later: ",
    "setup_not_a_person": "This is not {person}. If you don't know it, type later.",
    "setup_waiting": "Waiting for a message to {identity}…",
    "setup_no_message": "No message within {minutes:.0f} minutes.\nThe bot will send you a code when you write to it.",
    "setup_wrote": "{who} wrote: {text}\nIs that you?",
    "setup_somebody": "Someone",
    "setup_wait_again": "Wait for another message?",
    # The model
    "setup_models": "No model is configured yet. Choose the model that answers:",
    "setup_model_number": "Number (Enter for 1): ",
    "setup_model_range": "Enter a number from 1 to {last}.",
    "setup_model_needs_key": "{label} (requires an API key)",
    "setup_model_from": "{label}, from ${variable}",
    "setup_api_key": "API key ({variable}): ",
    "setup_model_testing": "Testing the model…",
    "setup_model_anyway": "Use it anyway?",
    # The end
    "setup_added": "Added the account {name} to {file}.",
    "setup_private": "It contains a secret, so only you can read it.",
    "setup_model": "Model: {label}",
    "setup_other_file": "The service at {url} uses {file}. Stop it, then start it with this file.",
    "setup_reload": "The service at {url} applies the change within seconds.",
    "setup_next": "Next:",
    "setup_start": "Start the service: {command}",
    "setup_finish_steps": "While it is running, complete steps {first} to {last} above on the platform.",
    "setup_pair": "The bot replies with a code. Send {pair} in the web console or in `{chat}` to become its owner.",
    "setup_trouble": "If something goes wrong, run: {command}",
    "setup_start_now": "Start the service now?",
    # The service
    "setup_install": "Install Roebot as a systemd user service? It starts when you log in, and systemd keeps it running.",
    "setup_installed": "The service is running. Log: {log}\nIt stops when you log out, unless you run: {linger}\nTo remove it, run: {undo}",
    "setup_variables": "It reads these variables from {file}, which only you can read: {names}",
    "setup_not_installed": "The service was not installed: {problem}",
    # `roebot chat`
    "chat_greeting": "Write a message. `/help` lists the commands, Ctrl-C stops an answer, Ctrl-D exits.",
    # `roebot manifest`
    "setup_not_needed": "No setup is needed.",
    "setup_and": " and ",
    "setup_roebot_step": "Run `roebot init {platform}`. It asks for {keys}, tests the account and writes config.yaml. To do this by hand, set {variables} in the environment, add `channels: {entry}` to config.yaml and start the service.",
    "setup_last_step": "{write} The bot does not know you yet, so it replies with a code. Send {pair} in the web console or in `roebot chat` to become the bot's owner.",
}
